package meter

import (
	"fmt"
	"maps"
	"sync"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/proto"
)

// Counts is what was done to the emulators, in the units of the bill. A call that failed counts as a call only.
type Counts struct {
	Reads     int            // documents read: found, missing, or returned by a query
	Writes    int            // documents written or deleted
	Published int            // Pub/Sub messages
	Calls     map[string]int // calls by the name of their RPC
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

// Counts returns what has been counted so far.
func (m *Meter) Counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.n
	n.Calls = maps.Clone(m.n.Calls)
	return n
}

func (m *Meter) add(c Counts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n.Reads += c.Reads
	m.n.Writes += c.Writes
	m.n.Published += c.Published
	for name, n := range c.Calls {
		m.n.Calls[name] += n
	}
}

// call is one call under way. What it asks for counts once it is answered.
type call struct {
	meter  *Meter
	method string

	mu    sync.Mutex
	first []byte // request, of the methods whose requests are counted
}

// asked looks at a request.
func (c *call) asked(message []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first == nil {
		c.first = message
	}
}

// answered counts what an answer gives, and what its request asked for.
func (c *call) answered(message []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := count(c.method, c.first, message)
	if err != nil {
		return fmt.Errorf("meter cannot count %s: %w", c.method, err)
	}
	c.meter.add(n)
	return nil
}

// count is the bill for one answer.
func count(method string, request, answer []byte) (n Counts, err error) {
	switch method {
	case "Commit":
		var r firestorepb.CommitRequest
		err = proto.Unmarshal(request, &r)
		n.Writes = len(r.GetWrites())
	case "BatchWrite":
		var r firestorepb.BatchWriteRequest
		err = proto.Unmarshal(request, &r)
		n.Writes = len(r.GetWrites())
	case "Publish":
		var r pubsubpb.PublishRequest
		err = proto.Unmarshal(request, &r)
		n.Published = len(r.GetMessages())
	case "BatchGetDocuments":
		var r firestorepb.BatchGetDocumentsResponse
		err = proto.Unmarshal(answer, &r)
		n.Reads = one(r.GetResult() != nil) // found or missing: both are billed
	case "RunQuery":
		var r firestorepb.RunQueryResponse
		err = proto.Unmarshal(answer, &r)
		n.Reads = one(r.GetDocument() != nil)
	case "RunAggregationQuery":
		n.Reads = 1 // billed by 1,000 index entries
	case "ListDocuments":
		var r firestorepb.ListDocumentsResponse
		err = proto.Unmarshal(answer, &r)
		n.Reads = len(r.GetDocuments())
	case "Listen":
		var r firestorepb.ListenResponse
		err = proto.Unmarshal(answer, &r)
		n.Reads = one(r.GetDocumentChange() != nil)
	}
	return n, err
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
