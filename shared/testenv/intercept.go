package testenv

import (
	"context"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// bind ties a call to the life of the client.
func (c *Client) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// dead is what every call of a killed client gets. Canceled is the code that no SDK retries.
func (c *Client) dead() error {
	if c.life.Err() == nil {
		return nil
	}
	return status.Error(codes.Canceled, "client "+c.Name+" was killed")
}

// unary stands between the SDK and the wire for calls with one request and one answer.
func (c *Client) unary(ctx context.Context, fullMethod string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	if err := c.dead(); err != nil {
		return err
	}
	ctx, cancel := c.bind(ctx)
	defer cancel()
	method := path.Base(fullMethod)
	c.meter.call(method)
	fault := c.Faults.take(method, req)
	if err := fault.before(ctx, method); err != nil {
		return err
	}
	if err := c.dead(); err != nil {
		return err
	}
	err := invoke(ctx, fullMethod, req, reply, cc, opts...)
	if err == nil {
		c.meter.request(req)
		c.meter.response(reply)
	}
	if lost := fault.after(method); err == nil && lost != nil {
		err = lost
	}
	if dead := c.dead(); dead != nil {
		return dead
	}
	return err
}

// stream stands between the SDK and the wire for streaming calls: queries, batch reads, listeners, StreamingPull.
func (c *Client) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, fullMethod string, open grpc.Streamer,
	opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if err := c.dead(); err != nil {
		return nil, err
	}
	ctx, cancel := c.bind(ctx)
	method := path.Base(fullMethod)
	c.meter.call(method)
	s, err := open(ctx, desc, cc, fullMethod, opts...)
	if err != nil {
		cancel()
		return nil, err
	}
	return &stream{ClientStream: s, client: c, method: method, cancel: cancel}, nil
}

// stream puts the fault around a stream: its first half at the first request, its second at the end, or at the first answer if that is
// to be lost. gRPC allows one sender and one receiver at a time, and the first answer follows the first request.
type stream struct {
	grpc.ClientStream
	client *Client
	method string
	cancel context.CancelFunc
	sent   bool  // used by the sender only
	fault  Fault // written before the first request leaves, so before any answer
	ended  bool  // used by the receiver only
}

// SendMsg implements grpc.ClientStream.
func (s *stream) SendMsg(m any) error {
	if !s.sent {
		s.sent = true
		s.fault = s.client.Faults.take(s.method, m)
		if err := s.fault.before(s.Context(), s.method); err != nil {
			s.cancel()
			return err
		}
	}
	if err := s.client.dead(); err != nil {
		return err
	}
	return s.ClientStream.SendMsg(m)
}

// RecvMsg implements grpc.ClientStream.
func (s *stream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if dead := s.client.dead(); dead != nil {
		s.cancel()
		return dead
	}
	if err == nil && s.fault.Lose == codes.OK {
		s.client.meter.response(m)
		return nil
	}
	if s.ended {
		return err
	}
	s.ended = true
	if err == nil {
		s.client.meter.response(m)
	}
	if lost := s.fault.after(s.method); lost != nil {
		err = lost
	}
	s.cancel()
	return err
}
