// Package meter stands between any number of processes and the Firestore and Pub/Sub emulators and counts what they really do: documents
// read and written, messages published, calls by name. It passes every call on as it is.
//
// It knows gRPC and the requests that are billed; it must not know what Kesoku stores or publishes.
package meter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"

	"google.golang.org/grpc"

	"kesoku.dev/shared/testenv/emulator"
)

// Meter is a pair of proxies, one before each emulator.
type Meter struct {
	// Pair is what to give to everybody whose calls are to be counted.
	Pair *emulator.Pair

	servers []*grpc.Server
	conns   []*grpc.ClientConn
	serving sync.WaitGroup

	mu sync.Mutex
	n  Counts
}

// Start opens the proxies on free ports of the loopback interface. Close them.
func Start(ctx context.Context, behind *emulator.Pair) (*Meter, error) {
	m := &Meter{Pair: &emulator.Pair{}, n: Counts{Calls: map[string]int{}}}
	for _, p := range []struct {
		emulator string
		host     *string
	}{{behind.FirestoreHost, &m.Pair.FirestoreHost}, {behind.PubSubHost, &m.Pair.PubSubHost}} {
		host, err := m.open(ctx, p.emulator)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("meter before %s: %w", p.emulator, err), m.Close())
		}
		*p.host = host
	}
	return m, nil
}

// open serves one proxy and returns where it listens.
func (m *Meter) open(ctx context.Context, behind string) (string, error) {
	conn, err := emulator.Dial(behind)
	if err != nil {
		return "", err
	}
	m.conns = append(m.conns, conn)
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	pass := func(_ any, in grpc.ServerStream) error { return m.pass(in, conn) }
	server := grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.MaxRecvMsgSize(math.MaxInt32), grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.UnknownServiceHandler(pass))
	m.servers = append(m.servers, server)
	m.serving.Go(func() { _ = server.Serve(l) }) // ends when the server is stopped
	return l.Addr().String(), nil
}

// Close ends the proxies and every call that is under way.
func (m *Meter) Close() error {
	for _, s := range m.servers {
		s.Stop()
	}
	m.serving.Wait()
	var problems []error
	for _, c := range m.conns {
		problems = append(problems, c.Close())
	}
	return errors.Join(problems...)
}
