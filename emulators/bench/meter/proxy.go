package meter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// raw is the codec of somebody who passes messages on: bytes stay bytes.
type raw struct{}

// Marshal implements encoding.Codec.
func (raw) Marshal(v any) ([]byte, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("marshal %T: the proxy knows bytes only", v)
	}
	return *b, nil
}

// Unmarshal implements encoding.Codec.
func (raw) Unmarshal(data []byte, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("unmarshal into %T: the proxy knows bytes only", v)
	}
	*b = data
	return nil
}

// Name implements encoding.Codec. It is the content type's, and that stays what the two ends speak.
func (raw) Name() string { return "proto" }

// pass is one call: whatever comes from either side goes to the other, and is counted on its way.
func (m *Meter) pass(in grpc.ServerStream, to *grpc.ClientConn) error {
	method, ok := grpc.MethodFromServerStream(in)
	if !ok {
		return status.Error(codes.Internal, "a call without a method")
	}
	ctx, cancel := context.WithCancel(in.Context())
	defer cancel()
	header, _ := metadata.FromIncomingContext(ctx) // absent: none to pass on
	header = header.Copy()
	header.Delete("authorization") // the connection has its own, and there must not be two
	ctx = metadata.NewOutgoingContext(ctx, header)
	both := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	out, err := to.NewStream(ctx, both, method, grpc.ForceCodec(raw{}))
	if err != nil {
		return err
	}
	c := &call{meter: m, method: path.Base(method)}
	m.add(Counts{Calls: map[string]int{c.method: 1}})
	go c.requests(in, out, cancel)
	err = c.responses(in, out)
	in.SetTrailer(out.Trailer())
	if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// requests passes on what the caller sends, until it has no more or the call ends. A caller that goes takes its call with it.
func (c *call) requests(in grpc.ServerStream, out grpc.ClientStream, cancel context.CancelFunc) {
	for {
		var message []byte
		err := in.RecvMsg(&message)
		if err == nil {
			c.asked(message)
			err = out.SendMsg(&message)
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			// Either side's end is told by the responses; a failure to say so is, too.
			_ = out.CloseSend()
			return
		default:
			cancel()
			return
		}
	}
}

// responses passes on what the emulator answers and returns how the call ended: io.EOF if well.
func (c *call) responses(in grpc.ServerStream, out grpc.ClientStream) error {
	header, err := out.Header()
	if err != nil {
		return err
	}
	if err := in.SendHeader(header); err != nil {
		return err
	}
	for {
		var message []byte
		if err := out.RecvMsg(&message); err != nil {
			return err
		}
		if err := c.answered(message); err != nil {
			return status.Error(codes.Internal, err.Error())
		}
		if err := in.SendMsg(&message); err != nil {
			return err
		}
	}
}
