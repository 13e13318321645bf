package emulator

import (
	"context"
	"errors"
	"fmt"
	"math"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// warmProject is where the first calls go, which take a cold Java about a second.
const warmProject = "warm-up"

// owner is the credential by which the Firestore emulator skips security rules, as the server SDKs do in production.
type owner struct{}

// GetRequestMetadata implements grpc's credentials.PerRPCCredentials.
func (owner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

// RequireTransportSecurity implements grpc's credentials.PerRPCCredentials: an emulator speaks plain text on loopback.
func (owner) RequireTransportSecurity() bool { return false }

// Dial opens a connection to the emulator on host. Give it to an SDK by option.WithGRPCConn, which is the only way past the connection
// that an SDK makes by itself when its *_EMULATOR_HOST variable is set: that one takes no dial options and so no interceptors.
// The variables themselves stay untouched, because the code under test may need them.
func Dial(host string, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithPerRPCCredentials(owner{}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)))
	conn, err := grpc.NewClient(host, opts...)
	if err != nil {
		return nil, fmt.Errorf("dial emulator %s: %w", host, err)
	}
	return conn, nil
}

func warmFirestore(ctx context.Context, host string) (err error) {
	conn, err := Dial(host)
	if err != nil {
		return err
	}
	client, err := firestore.NewClient(ctx, warmProject, option.WithGRPCConn(conn))
	if err != nil {
		return fmt.Errorf("warm up Firestore on %s: %w", host, errors.Join(err, conn.Close()))
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	doc := client.Collection("warm").Doc("up")
	if _, err := doc.Set(ctx, map[string]any{"up": true}); err != nil {
		return fmt.Errorf("warm up Firestore on %s: %w", host, err)
	}
	if _, err := doc.Get(ctx); err != nil {
		return fmt.Errorf("warm up Firestore on %s: %w", host, err)
	}
	return nil
}

func warmPubSub(ctx context.Context, host string) (err error) {
	conn, err := Dial(host)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	client, err := pubsub.NewClient(ctx, warmProject, option.WithGRPCConn(conn))
	if err != nil {
		return fmt.Errorf("warm up Pub/Sub on %s: %w", host, err)
	}
	if _, err := EnsureTopic(ctx, client, "warm-up"); err != nil {
		return fmt.Errorf("warm up Pub/Sub on %s: %w", host, err)
	}
	return nil
}
