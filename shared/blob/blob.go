// Package blob is the staging area: a session's attachments and large tool results, in one bucket of Cloud Storage. It is the only
// package that imports the storage client. It may know how objects are named and that one never changes once it is written; it must not
// know what is in them or who reads them.
package blob

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"

	"kesoku.dev/shared/errs"
)

// MaxBytes is the size of the largest object: what a function of 512 MiB can hold a few of at once.
const MaxBytes = 32 << 20

// ErrTooLarge says that an object is larger than MaxBytes. It comes marked as permanent.
var ErrTooLarge = errors.New("larger than the staging area takes")

// timeout is of one operation with its retries.
const timeout = time.Minute

// Store is a bucket. It is safe for concurrent use.
type Store struct {
	objects *storage.ObjectsService
	bucket  string
}

// Connect returns the staging area in a bucket that exists, reached with the application's default credentials. endpoint, if not empty,
// is a stand-in's host:port or URL, as STORAGE_EMULATOR_HOST has it for Google's own clients; no credentials go there.
func Connect(ctx context.Context, bucket, endpoint string) (*Store, error) {
	if bucket == "" {
		return nil, errors.New("connect to Cloud Storage: the name of a bucket is needed")
	}
	var opts []option.ClientOption
	if endpoint != "" {
		if !strings.Contains(endpoint, "://") {
			endpoint = "http://" + endpoint
		}
		opts = append(opts, option.WithEndpoint(strings.TrimSuffix(endpoint, "/")+"/storage/v1/"), option.WithoutAuthentication())
	}
	service, err := storage.NewService(ctx, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to Cloud Storage: %w", err)
	}
	return &Store{objects: service.Objects, bucket: bucket}, nil
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
	sum := checksum(data)
	err = s.write(ctx, name, data, contentType, sum)
	if code(err) == http.StatusPreconditionFailed {
		err = s.sameAs(ctx, name, uint64(len(data)), sum)
	}
	if err != nil {
		return "", classify(fmt.Errorf("put %s into bucket %s: %w", name, s.bucket, err))
	}
	return name, nil
}

// write creates the object. Only its creation is tried, so a retry of a request whose answer was lost is refused, not repeated.
func (s *Store) write(ctx context.Context, name string, data []byte, contentType, sum string) error {
	object := &storage.Object{Name: name, ContentType: contentType, Crc32c: sum}
	return retry(ctx, func() error {
		// One request: what is kept in memory anyway need not be sent in chunks.
		_, err := s.objects.Insert(s.bucket, object).IfGenerationMatch(0).Context(ctx).
			Media(bytes.NewReader(data), googleapi.ContentType(contentType), googleapi.ChunkSize(0)).Do()
		return err
	})
}

// sameAs compares what is stored with what was to be.
func (s *Store) sameAs(ctx context.Context, name string, size uint64, sum string) error {
	var stored *storage.Object
	err := retry(ctx, func() (err error) {
		stored, err = s.objects.Get(s.bucket, name).Fields("size", "crc32c").Context(ctx).Do()
		return err
	})
	if err != nil {
		return err
	}
	if stored.Size != size || stored.Crc32c != sum {
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
	err = retry(ctx, func() (err error) {
		data, contentType, err = s.read(ctx, name)
		return err
	})
	if err != nil {
		if code(err) == http.StatusNotFound {
			err = fmt.Errorf("%w (%w)", errs.ErrNotFound, err)
		}
		return nil, "", classify(fmt.Errorf("get %s from bucket %s: %w", name, s.bucket, err))
	}
	return data, contentType, nil
}

func (s *Store) read(ctx context.Context, name string) ([]byte, string, error) {
	resp, err := s.objects.Get(s.bucket, name).Context(ctx).Download()
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = resp.Body.Close() }() // nothing is written, so nothing can be lost
	if resp.ContentLength > MaxBytes {
		return nil, "", ErrTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, MaxBytes+1))
	switch {
	case err != nil:
		return nil, "", err
	case len(data) > MaxBytes: // a server that does not tell the size
		return nil, "", ErrTooLarge
	case !intact(data, resp.Header):
		return nil, "", errDamaged
	}
	return data, resp.Header.Get("Content-Type"), nil
}

// errDamaged says that what came is not what the service sent; the next attempt may be better.
var errDamaged = errors.New("the object's checksum is another than that of what was received")

// intact holds what was received against the service's checksum, if it tells one.
func intact(data []byte, h http.Header) bool {
	for hash := range strings.SplitSeq(strings.Join(h.Values("X-Goog-Hash"), ","), ",") {
		if sum, ok := strings.CutPrefix(strings.TrimSpace(hash), "crc32c="); ok {
			return sum == checksum(data)
		}
	}
	return true
}

// checksum is the CRC32C of data as the API writes it.
func checksum(data []byte) string {
	sum := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}
