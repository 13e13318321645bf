package testenv

import (
	"maps"
	"sync"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

// Counts is what a client did to the emulators, in the units of the bill. Failed calls count as calls only.
type Counts struct {
	Reads     int            // documents read: found, missing, returned by a query or a listener
	Writes    int            // documents written or deleted
	Published int            // Pub/Sub messages
	Calls     map[string]int // calls by the name of their RPC: "Commit", "BatchGetDocuments", "RunQuery", "Publish" …
}

// Minus returns what was counted since an earlier look.
func (c Counts) Minus(earlier Counts) Counts {
	d := Counts{Reads: c.Reads - earlier.Reads, Writes: c.Writes - earlier.Writes, Published: c.Published - earlier.Published,
		Calls: map[string]int{}}
	for name, n := range c.Calls {
		if n -= earlier.Calls[name]; n != 0 {
			d.Calls[name] = n
		}
	}
	return d
}

func (c *Counts) add(o Counts) {
	c.Reads += o.Reads
	c.Writes += o.Writes
	c.Published += o.Published
	for name, n := range o.Calls {
		c.Calls[name] += n
	}
}

// meter collects the counts of one client.
type meter struct {
	mu sync.Mutex
	n  Counts
}

func (m *meter) counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.n
	n.Calls = maps.Clone(m.n.Calls)
	return n
}

func (m *meter) call(method string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n.Calls[method]++
}

// request counts what a successful unary call asked for.
func (m *meter) request(req any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch r := req.(type) {
	case *firestorepb.CommitRequest:
		m.n.Writes += len(r.GetWrites())
	case *firestorepb.BatchWriteRequest:
		m.n.Writes += len(r.GetWrites())
	case *pubsubpb.PublishRequest:
		m.n.Published += len(r.GetMessages())
	}
}

// response counts what a call returned, message by message.
func (m *meter) response(res any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch r := res.(type) {
	case *firestorepb.BatchGetDocumentsResponse:
		if r.GetResult() != nil { // Found or missing: both are billed. A response without a result only names the transaction.
			m.n.Reads++
		}
	case *firestorepb.RunQueryResponse:
		if r.GetDocument() != nil {
			m.n.Reads++
		}
	case *firestorepb.RunAggregationQueryResponse:
		if r.GetResult() != nil { // Billed per 1,000 index entries: one read for what tests hold.
			m.n.Reads++
		}
	case *firestorepb.ListDocumentsResponse:
		m.n.Reads += len(r.GetDocuments())
	case *firestorepb.ListenResponse:
		if r.GetDocumentChange() != nil {
			m.n.Reads++
		}
	}
}
