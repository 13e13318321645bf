package storage_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	gcs "cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"

	"kesoku.dev/emulators/storage"
	"kesoku.dev/shared/blob"
	"kesoku.dev/shared/errs"
)

func start(t *testing.T, opts storage.Options, more ...option.ClientOption) (*gcs.Client, string) {
	t.Helper()
	srv := httptest.NewServer(storage.New(opts))
	t.Cleanup(srv.Close)
	all := append([]option.ClientOption{option.WithEndpoint(srv.URL + "/storage/v1/"), option.WithoutAuthentication()}, more...)
	client, err := gcs.NewClient(t.Context(), all...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	client.SetRetry(gcs.WithPolicy(gcs.RetryNever))
	return client, srv.URL
}

func write(ctx context.Context, o *gcs.ObjectHandle, data []byte, chunk int) error {
	w := o.NewWriter(ctx)
	w.ChunkSize, w.ContentType, w.Metadata = chunk, "text/plain", map[string]string{"k": "v"}
	if _, err := w.Write(data); err != nil {
		return errors.Join(err, w.Close())
	}
	return w.Close()
}

func read(t *testing.T, o *gcs.ObjectHandle, offset, length int64) string {
	t.Helper()
	r, err := o.NewRangeReader(t.Context(), offset, length)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func status(err error) int {
	var api *googleapi.Error
	if errors.As(err, &api) {
		return api.Code
	}
	return 0
}

// TestObjects takes an object through its life with the real client, with both forms of download and all forms of upload.
func TestObjects(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]option.ClientOption{"XML reads": nil, "JSON reads": {gcs.WithJSONReads()}} {
		for _, upload := range []struct {
			name        string
			size, chunk int
		}{
			{"empty", 0, 256 << 10}, {"multipart", 1000, 256 << 10}, {"streamed", 1000, 0}, {"resumable", 1_000_000, 256 << 10},
			{"resumable, whole chunks", 512 << 10, 256 << 10},
		} {
			t.Run(name+"/"+upload.name, func(t *testing.T) {
				t.Parallel()
				client, _ := start(t, storage.Options{Buckets: []string{"b"}}, more...)
				o := client.Bucket("b").Object("sessions/会话/a b/c+d.txt")
				data := bytes.Repeat([]byte("0123456789"), upload.size/10+1)[:upload.size]
				if err := write(t.Context(), o, data, upload.chunk); err != nil {
					t.Fatal(err)
				}
				attrs, err := o.Attrs(t.Context())
				if err != nil || attrs.Size != int64(upload.size) || attrs.ContentType != "text/plain" || attrs.Metadata["k"] != "v" {
					t.Fatalf("%+v, %v", attrs, err)
				}
				if got := read(t, o, 0, -1); got != string(data) {
					t.Errorf("read %d bytes, want %d", len(got), len(data))
				}
				if upload.size > 100 {
					if got := read(t, o, 11, 5); got != "12345" {
						t.Errorf("range: %q", got)
					}
				}
				if err := o.Delete(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := o.Attrs(t.Context()); !errors.Is(err, gcs.ErrObjectNotExist) {
					t.Errorf("after delete: %v", err)
				}
				if _, err := o.NewReader(t.Context()); !errors.Is(err, gcs.ErrObjectNotExist) {
					t.Errorf("read after delete: %v", err)
				}
			})
		}
	}
}

func TestPreconditions(t *testing.T) {
	t.Parallel()
	client, _ := start(t, storage.Options{})
	o := client.Bucket("any").Object("x")
	fresh := o.If(gcs.Conditions{DoesNotExist: true})
	if err := write(t.Context(), fresh, []byte("1"), 256<<10); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 600_000} { // in one request, and in several
		if err := write(t.Context(), fresh, make([]byte, size), 256<<10); status(err) != http.StatusPreconditionFailed {
			t.Errorf("%d bytes over what exists: %v", size, err)
		}
	}
	attrs, err := o.Attrs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := write(t.Context(), o.If(gcs.Conditions{GenerationMatch: attrs.Generation}), []byte("2"), 256<<10); err != nil {
		t.Errorf("over the generation read: %v", err)
	}
	if err := write(t.Context(), o.If(gcs.Conditions{GenerationMatch: attrs.Generation}), []byte("3"), 256<<10); status(err) != http.StatusPreconditionFailed {
		t.Errorf("over an older generation: %v", err)
	}
	if got := read(t, o, 0, -1); got != "2" {
		t.Errorf("stored: %q", got)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	client, _ := start(t, storage.Options{})
	for i := range 5 {
		if err := write(t.Context(), client.Bucket("b").Object("p/"+strconv.Itoa(i)+"/f"), []byte("x"), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(t.Context(), client.Bucket("b").Object("q"), []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	it := client.Bucket("b").Objects(t.Context(), &gcs.Query{Prefix: "p/"})
	it.PageInfo().MaxSize = 2
	var names []string
	for {
		attrs, err := it.Next()
		if errors.Is(err, iterator.Done) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, attrs.Name)
	}
	if got := strings.Join(names, " "); got != "p/0/f p/1/f p/2/f p/3/f p/4/f" {
		t.Errorf("names: %s", got)
	}
	it = client.Bucket("b").Objects(t.Context(), &gcs.Query{Delimiter: "/"})
	var folders, files int
	for {
		attrs, err := it.Next()
		if errors.Is(err, iterator.Done) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if attrs.Prefix != "" {
			folders++
		} else {
			files++
		}
	}
	if folders != 1 || files != 1 {
		t.Errorf("%d folders, %d files, want one of each", folders, files)
	}
}

func TestBucketsAndBounds(t *testing.T) {
	t.Parallel()
	client, url := start(t, storage.Options{Buckets: []string{"b"}, MaxSize: 1000})
	if attrs, err := client.Bucket("b").Attrs(t.Context()); err != nil || attrs.Name != "b" {
		t.Errorf("%+v, %v", attrs, err)
	}
	if _, err := client.Bucket("other").Attrs(t.Context()); !errors.Is(err, gcs.ErrBucketNotExist) {
		t.Errorf("other bucket: %v", err)
	}
	o := client.Bucket("b").Object("x")
	for range 5 { // what is overwritten or deleted takes no room
		if err := write(t.Context(), o, make([]byte, 900), 256<<10); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(t.Context(), client.Bucket("b").Object("y"), make([]byte, 101), 256<<10); status(err) != http.StatusTooManyRequests {
		t.Errorf("beyond the bound: %v", err)
	}
	if err := o.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := write(t.Context(), client.Bucket("b").Object("y"), make([]byte, 1000), 256<<10); err != nil {
		t.Errorf("after a delete: %v", err)
	}
	for _, c := range []struct{ method, path, body string }{
		{http.MethodPost, "/upload/storage/v1/b/b/o?uploadType=multipart", "no parts"},
		{http.MethodPost, "/upload/storage/v1/b/b/o?uploadType=magic", ""},
		{http.MethodPost, "/upload/storage/v1/b/b/o?uploadType=resumable", "{"},
		{http.MethodPut, "/upload/storage/v1/b/b/o?upload_id=none", ""},
		{http.MethodPatch, "/storage/v1/b/b", ""},
		{http.MethodGet, "/storage/v1/b/b/o?pageToken=%21", ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, url+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode < 400 || resp.StatusCode >= 500 || !strings.Contains(string(body), `"error"`) {
			t.Errorf("%s %s: %d %s %v", c.method, c.path, resp.StatusCode, body, err)
		}
	}
}

// TestBlob runs the real staging area against the stand-in.
func TestBlob(t *testing.T) {
	t.Parallel()
	client, _ := start(t, storage.Options{Buckets: []string{"staging"}})
	s, err := blob.New(client, "staging")
	if err != nil {
		t.Fatal(err)
	}
	const name = "sessions/s1/results/call-1/报告.txt"
	large := bytes.Repeat([]byte("汉字"), 1<<20) // more than one chunk
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if staged, err := s.Put(t.Context(), name, large, "text/plain; charset=utf-8"); err != nil || staged != name {
				t.Errorf("%q, %v", staged, err)
			}
		})
	}
	wg.Wait()
	got, contentType, err := s.Get(t.Context(), name)
	if err != nil || !bytes.Equal(got, large) || contentType != "text/plain; charset=utf-8" {
		t.Errorf("%d bytes of %q, %v", len(got), contentType, err)
	}
	if _, err := s.Put(t.Context(), name, []byte("other"), "text/plain"); !errors.Is(err, errs.ErrExists) {
		t.Errorf("other content: %v", err)
	}
	if _, _, err := s.Get(t.Context(), "sessions/s1/results/call-1/none"); !errors.Is(err, errs.ErrNotFound) {
		t.Errorf("missing: %v", err)
	}
	elsewhere, err := blob.New(client, "nobucket")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := elsewhere.Put(t.Context(), name, []byte("x"), "text/plain"); err == nil || errs.KindOf(err) != errs.KindPermanent {
		t.Errorf("missing bucket: %v", err)
	}
}

// TestEmulatorHost reaches the stand-in the way a function does, by the variable that the client library itself reads.
func TestEmulatorHost(t *testing.T) {
	srv := httptest.NewServer(storage.New(storage.Options{}))
	defer srv.Close()
	t.Setenv("STORAGE_EMULATOR_HOST", srv.Listener.Addr().String())
	client, err := gcs.NewClient(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	s, err := blob.New(client, "staging")
	if err != nil {
		t.Fatal(err)
	}
	staged, err := s.Put(t.Context(), "sessions/s/k/i/f.txt", make([]byte, 9<<20), "text/plain")
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := s.Get(t.Context(), staged); err != nil || len(got) != 9<<20 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
