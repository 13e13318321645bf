// Package blob is the staging area: a session's attachments and large tool results, in one bucket of Cloud Storage. It is the only
// package that imports the storage client. It may know how objects are named and that one never changes once it is written; it must not
// know what is in them or who reads them.
package blob

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"time"

	"cloud.google.com/go/storage"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/googleapi"

	"kesoku.dev/shared/errs"
)

// MaxBytes is the size of the largest object: what a function of 512 MiB can hold a few of at once.
const MaxBytes = 32 << 20

// ErrTooLarge says that an object is larger than MaxBytes. It comes marked as permanent.
var ErrTooLarge = errors.New("larger than the staging area takes")

const (
	timeout   = time.Minute // of one operation with its retries
	chunkSize = 4 << 20     // bytes in memory of an upload; smaller objects go in one request
)

// Store is a bucket. It is safe for concurrent use.
type Store struct {
	bucket *storage.BucketHandle
	name   string
}

// New returns the staging area in a bucket that exists. The endpoint is the client's affair.
func New(client *storage.Client, bucket string) (*Store, error) {
	if client == nil || bucket == "" {
		return nil, errors.New("new staging area: a client and the name of a bucket are needed")
	}
	retry := storage.WithBackoff(gax.Backoff{Initial: 200 * time.Millisecond, Max: 5 * time.Second, Multiplier: 2})
	return &Store{bucket: client.Bucket(bucket).Retryer(retry), name: bucket}, nil
}

// Connect returns the staging area in the bucket. The SDK finds a stand-in by STORAGE_EMULATOR_HOST.
func Connect(ctx context.Context, bucket string) (*Store, error) {
	client, err := storage.NewClient(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to Cloud Storage: %w", err)
	}
	return New(client, bucket)
}

// Put writes an object under a name of the form that Name makes, and returns the name it is really stored under. Writing the same
// content again is no error; other content under a name in use is errs.ErrExists, and too much of it ErrTooLarge, both permanent.
func (s *Store) Put(ctx context.Context, name string, data []byte, contentType string) (stagedAs string, err error) {
	name, err = canonical(name)
	if err != nil {
		return "", fmt.Errorf("put: %w", err)
	}
	if len(data) > MaxBytes {
		return "", errs.Permanent(fmt.Errorf("put %s: %d bytes: %w, which is %d", name, len(data), ErrTooLarge, MaxBytes))
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	sum := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	err = s.write(ctx, name, data, contentType, sum)
	if code(err) == http.StatusPreconditionFailed {
		err = s.sameAs(ctx, name, int64(len(data)), sum)
	}
	if err != nil {
		return "", classify(fmt.Errorf("put %s into bucket %s: %w", name, s.name, err))
	}
	return name, nil
}

// write creates the object. Only its creation is tried, so a retry of a request whose answer was lost is refused, not repeated.
func (s *Store) write(ctx context.Context, name string, data []byte, contentType string, sum uint32) error {
	w := s.bucket.Object(name).If(storage.Conditions{DoesNotExist: true}).NewWriter(ctx)
	w.ContentType, w.ChunkSize = contentType, chunkSize
	w.CRC32C, w.SendCRC32C = sum, true
	if _, err := w.Write(data); err != nil {
		return errors.Join(err, w.Close())
	}
	return w.Close()
}

// sameAs compares what is stored with what was to be.
func (s *Store) sameAs(ctx context.Context, name string, size int64, sum uint32) error {
	attrs, err := s.bucket.Object(name).Attrs(ctx)
	if err != nil {
		return err
	}
	if attrs.Size != size || attrs.CRC32C != sum {
		return errs.Permanent(fmt.Errorf("%w with other content", errs.ErrExists))
	}
	return nil
}

// Get reads an object whole. A name that Put did not return is refused, an object that does not exist is errs.ErrNotFound, one that is
// too large ErrTooLarge; all three are permanent.
func (s *Store) Get(ctx context.Context, name string) (data []byte, contentType string, err error) {
	clean, err := canonical(name)
	if err != nil {
		return nil, "", fmt.Errorf("get: %w", err)
	}
	if clean != name {
		return nil, "", errs.Permanentf("get %.200q: no object can have this name", name)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	data, contentType, err = s.read(ctx, name)
	if err != nil {
		return nil, "", classify(fmt.Errorf("get %s from bucket %s: %w", name, s.name, err))
	}
	return data, contentType, nil
}

func (s *Store) read(ctx context.Context, name string) ([]byte, string, error) {
	r, err := s.bucket.Object(name).NewReader(ctx)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = r.Close() }() // nothing is written, so nothing can be lost
	if r.Attrs.Size > MaxBytes {
		return nil, "", ErrTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	switch {
	case err != nil:
		return nil, "", err
	case len(data) > MaxBytes: // a server that does not tell the size
		return nil, "", ErrTooLarge
	}
	return data, r.Attrs.ContentType, nil
}

// code is the HTTP status behind err, or 0.
func code(err error) int {
	var api *googleapi.Error
	if errors.As(err, &api) {
		return api.Code
	}
	return 0
}

// classify marks what no retry mends. All else (the network, 5xx, 429, 408) stays retryable.
func classify(err error) error {
	status := code(err)
	switch {
	case errors.Is(err, storage.ErrObjectNotExist):
		return errs.Permanent(fmt.Errorf("%w (%w)", errs.ErrNotFound, err))
	case errors.Is(err, ErrTooLarge), errors.Is(err, storage.ErrBucketNotExist):
		return errs.Permanent(err)
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests:
		return errs.Permanent(err)
	default:
		return err
	}
}
