package blob_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/api/googleapi"

	"kesoku.dev/shared/blob"
	"kesoku.dev/shared/errs"
)

// bucket is as much of Cloud Storage as one-request uploads need. Statuses are answered instead of the next requests; lost says that the
// next upload is stored but its answer is 503; damaged that the next download is.
type bucket struct {
	mu       sync.Mutex
	objects  map[string]stored
	statuses []int
	lost     bool
	damaged  bool
	huge     bool // downloads say they are larger than anything
	requests int
}

type stored struct {
	data        []byte
	contentType string
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests++
	if len(b.statuses) > 0 {
		status := b.statuses[0]
		b.statuses = b.statuses[1:]
		http.Error(w, `{"error":{"code":`+strconv.Itoa(status)+`}}`, status)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/storage/v1/b/staging/o/")
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/upload/storage/v1/b/staging/o":
		b.insert(w, r)
	case b.objects[name].data == nil:
		http.NotFound(w, r)
	case r.URL.Query().Get("alt") == "media":
		b.download(w, b.objects[name])
	default:
		b.attrs(w, name)
	}
}

func (b *bucket) download(w http.ResponseWriter, o stored) {
	if b.huge {
		w.Header().Set("Content-Length", strconv.Itoa(blob.MaxBytes+1))
	}
	w.Header().Set("Content-Type", o.contentType)
	w.Header().Set("X-Goog-Hash", "crc32c="+sum(o.data))
	w.Header().Add("X-Goog-Hash", "md5=ignored")
	data := bytes.Clone(o.data)
	if b.damaged {
		b.damaged, data[0] = false, data[0]^1
	}
	_, _ = w.Write(data)
}

func (b *bucket) insert(w http.ResponseWriter, r *http.Request) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || r.URL.Query().Get("ifGenerationMatch") != "0" {
		http.Error(w, "want a multipart upload of what must not exist", http.StatusBadRequest)
		return
	}
	parts := multipart.NewReader(r.Body, params["boundary"])
	first, err := parts.NextPart()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var meta struct{ Name, CRC32C string }
	if err := json.NewDecoder(first).Decode(&meta); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	media, err := parts.NextPart()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	data, err := io.ReadAll(media)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	name := meta.Name
	if _, ok := b.objects[name]; ok || meta.CRC32C != sum(data) {
		http.Error(w, `{"error":{"code":412}}`, http.StatusPreconditionFailed)
		return
	}
	b.objects[name] = stored{data, media.Header.Get("Content-Type")}
	if b.lost {
		b.lost = false
		http.Error(w, `{"error":{"code":503}}`, http.StatusServiceUnavailable)
		return
	}
	b.attrs(w, name)
}

func (b *bucket) attrs(w http.ResponseWriter, name string) {
	o := b.objects[name]
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{
		"name": name, "bucket": "staging", "size": strconv.Itoa(len(o.data)), "crc32c": sum(o.data),
	})
}

// sum is the CRC32C as the protocol writes it.
func sum(data []byte) string {
	sum := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

func newStore(t *testing.T) (*blob.Store, *bucket) {
	t.Helper()
	b := &bucket{objects: map[string]stored{}}
	srv := httptest.NewServer(b)
	t.Cleanup(srv.Close)
	s, err := blob.Connect(t.Context(), "staging", srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	return s, b
}

const name = "sessions/s1/attachments/m1-0/报告 1.txt"

func TestPutAndGet(t *testing.T) { // L1: attachments are copied to the session's staging area
	t.Parallel()
	s, _ := newStore(t)
	for _, data := range [][]byte{[]byte("汉字"), {}, bytes.Repeat([]byte{0, 1}, 1<<20)} {
		n := name + strconv.Itoa(len(data))
		staged, err := s.Put(t.Context(), n, data, "text/x-odd")
		if err != nil || staged != n {
			t.Fatalf("staged as %q, %v", staged, err)
		}
		got, contentType, err := s.Get(t.Context(), staged)
		if err != nil || !bytes.Equal(got, data) || contentType != "text/x-odd" {
			t.Errorf("%d bytes came back as %d of %q, %v", len(data), len(got), contentType, err)
		}
	}
}

func TestPutIsIdempotent(t *testing.T) {
	t.Parallel()
	s, b := newStore(t)
	for range 2 {
		if _, err := s.Put(t.Context(), name, []byte("same"), "text/plain"); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []string{"other", "sama"} {
		if _, err := s.Put(t.Context(), name, []byte(other), "text/plain"); !errors.Is(err, errs.ErrExists) || errs.KindOf(err) != errs.KindPermanent {
			t.Errorf("other content: %v", err)
		}
	}
	if got := string(b.objects[name].data); got != "same" {
		t.Errorf("stored: %q", got)
	}
}

func TestPutWhoseAnswerIsLost(t *testing.T) { // case B69: the retry finds its own work
	t.Parallel()
	s, b := newStore(t)
	b.lost = true
	if staged, err := s.Put(t.Context(), name, []byte("once"), "text/plain"); err != nil || staged != name {
		t.Fatalf("%q, %v", staged, err)
	}
	if string(b.objects[name].data) != "once" || b.requests < 3 { // stored, refused, compared
		t.Errorf("%d requests", b.requests)
	}
}

func TestTransientFailuresAreRetried(t *testing.T) {
	t.Parallel()
	s, b := newStore(t)
	b.statuses = []int{503}
	if _, err := s.Put(t.Context(), name, []byte("x"), "text/plain"); err != nil {
		t.Fatal(err)
	}
	b.statuses = []int{503}
	if _, _, err := s.Get(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedDownloadIsRetried(t *testing.T) {
	t.Parallel()
	s, b := newStore(t)
	if _, err := s.Put(t.Context(), name, []byte("whole"), "text/plain"); err != nil {
		t.Fatal(err)
	}
	b.damaged = true
	if got, _, err := s.Get(t.Context(), name); err != nil || string(got) != "whole" || b.requests != 3 {
		t.Errorf("%q, %v after %d requests", got, err, b.requests)
	}
}

// What the service refuses for good is asked once, what passes until the caller has no time left, and then both are told.
func TestRetriesAreBounded(t *testing.T) {
	t.Parallel()
	s, b := newStore(t)
	b.statuses = []int{400, 400}
	if _, _, err := s.Get(t.Context(), name); err == nil || errs.KindOf(err) != errs.KindPermanent || b.requests != 1 {
		t.Errorf("%v after %d requests", err, b.requests)
	}
	b.statuses, b.requests = slices.Repeat([]int{503}, 1000), 0
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, _, err := s.Get(ctx, name)
	var api *googleapi.Error
	if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &api) || api.Code != 503 || errs.KindOf(err) != errs.KindRetryable {
		t.Errorf("when the time was up: %v", err)
	}
	if b.requests < 2 || b.requests > 100 {
		t.Errorf("%d requests", b.requests)
	}
	b.statuses = slices.Repeat([]int{503}, 10)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	b.requests = 0
	if _, _, err := s.Get(canceled, name); !errors.Is(err, context.Canceled) || b.requests > 1 {
		t.Errorf("canceled: %v after %d requests", err, b.requests)
	}
}

// A connection that breaks, and a service that is not there for a moment, are the network's.
func TestNetwork(t *testing.T) {
	t.Parallel()
	b := &bucket{objects: map[string]stored{}}
	var broken atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Add(1)%2 == 1 {
			panic(http.ErrAbortHandler)
		}
		b.ServeHTTP(w, r)
	}))
	s, err := blob.Connect(t.Context(), "staging", srv.Listener.Addr().String()) // without a scheme, as emulators are named
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), name, []byte("x"), "text/plain"); err != nil {
		t.Errorf("put: %v", err)
	}
	if got, _, err := s.Get(t.Context(), name); err != nil || string(got) != "x" {
		t.Errorf("get: %q, %v", got, err)
	}
	srv.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := s.Get(ctx, name); err == nil || errs.KindOf(err) != errs.KindRetryable {
		t.Errorf("nobody there: %v", err)
	}
}

func TestErrorsAreClassified(t *testing.T) {
	t.Parallel()
	s, b := newStore(t)
	if _, _, err := s.Get(t.Context(), name); !errors.Is(err, errs.ErrNotFound) || errs.KindOf(err) != errs.KindPermanent {
		t.Errorf("missing: %v", err)
	}
	b.statuses = []int{403}
	if _, err := s.Put(t.Context(), name, nil, ""); err == nil || errs.KindOf(err) != errs.KindPermanent {
		t.Errorf("forbidden: %v", err)
	}
	if _, err := s.Put(t.Context(), name, make([]byte, blob.MaxBytes+1), ""); !errors.Is(err, blob.ErrTooLarge) || errs.KindOf(err) != errs.KindPermanent {
		t.Errorf("too large: %v", err)
	}
	if _, err := s.Put(t.Context(), name, []byte("x"), "text/plain"); err != nil {
		t.Fatal(err)
	}
	b.huge = true
	if _, _, err := s.Get(t.Context(), name); !errors.Is(err, blob.ErrTooLarge) || errs.KindOf(err) != errs.KindPermanent {
		t.Errorf("too large to read: %v", err)
	}
	for _, bad := range []string{"", "x", "sessions/a/b/c", "other/a/b/c/d", "sessions//b/c/d", "/sessions/a/b/c/d"} {
		if _, err := s.Put(t.Context(), bad, nil, ""); err == nil || errs.KindOf(err) != errs.KindPermanent {
			t.Errorf("put %q: %v", bad, err)
		}
		if _, _, err := s.Get(t.Context(), bad); err == nil || errs.KindOf(err) != errs.KindPermanent {
			t.Errorf("get %q: %v", bad, err)
		}
	}
	if _, _, err := s.Get(t.Context(), "sessions/a/b/../../x/y"); err == nil || errors.Is(err, errs.ErrNotFound) {
		t.Errorf("a name that is not clean was looked up: %v", err)
	}
	if _, err := blob.Connect(t.Context(), "", "127.0.0.1:1"); err == nil {
		t.Error("no bucket was taken")
	}
}
