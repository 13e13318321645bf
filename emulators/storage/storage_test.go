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

	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	gcs "google.golang.org/api/storage/v1"

	"kesoku.dev/emulators/storage"
	"kesoku.dev/shared/blob"
	"kesoku.dev/shared/errs"
)

func start(t *testing.T, opts storage.Options) (*gcs.Service, string) {
	t.Helper()
	srv := httptest.NewServer(storage.New(opts))
	t.Cleanup(srv.Close)
	client, err := gcs.NewService(t.Context(), option.WithEndpoint(srv.URL+"/storage/v1/"), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	return client, srv.URL
}

// anyGeneration overwrites whatever is there; 0 means that nothing may be.
const anyGeneration = -1

func write(ctx context.Context, client *gcs.Service, bucket, name string, data []byte, chunk int, generation int64) error {
	call := client.Objects.Insert(bucket, &gcs.Object{Name: name, ContentType: "text/plain", Metadata: map[string]string{"k": "v"}}).
		Media(bytes.NewReader(data), googleapi.ChunkSize(chunk)).Context(ctx)
	if generation != anyGeneration {
		call.IfGenerationMatch(generation)
	}
	_, err := call.Do()
	return err
}

func read(t *testing.T, client *gcs.Service, bucket, name, byteRange string) string {
	t.Helper()
	call := client.Objects.Get(bucket, name)
	if byteRange != "" {
		call.Header().Set("Range", byteRange)
	}
	r, err := call.Download()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	b, err := io.ReadAll(r.Body)
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

// TestObjects takes an object through its life with Google's own client and all its forms of upload.
func TestObjects(t *testing.T) {
	t.Parallel()
	for _, upload := range []struct {
		name        string
		size, chunk int // bytes
	}{
		{"empty", 0, 256 << 10}, {"multipart", 1000, 256 << 10}, {"streamed", 1000, 0}, {"resumable", 1_000_000, 256 << 10},
		{"resumable, whole chunks", 512 << 10, 256 << 10},
	} {
		t.Run(upload.name, func(t *testing.T) {
			t.Parallel()
			client, _ := start(t, storage.Options{Buckets: []string{"b"}})
			const name = "sessions/会话/a b/c+d.txt"
			data := bytes.Repeat([]byte("0123456789"), upload.size/10+1)[:upload.size]
			if err := write(t.Context(), client, "b", name, data, upload.chunk, anyGeneration); err != nil {
				t.Fatal(err)
			}
			o, err := client.Objects.Get("b", name).Do()
			if err != nil || strconv.FormatUint(o.Size, 10) != strconv.Itoa(upload.size) || o.ContentType != "text/plain" || o.Metadata["k"] != "v" {
				t.Fatalf("%+v, %v", o, err)
			}
			if got := read(t, client, "b", name, ""); got != string(data) {
				t.Errorf("read %d bytes, want %d", len(got), len(data))
			}
			if upload.size > 100 {
				if got := read(t, client, "b", name, "bytes=11-15"); got != "12345" {
					t.Errorf("range: %q", got)
				}
			}
			if err := client.Objects.Delete("b", name).Do(); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Objects.Get("b", name).Do(); status(err) != http.StatusNotFound {
				t.Errorf("after delete: %v", err)
			}
			if _, err := client.Objects.Get("b", name).Download(); status(err) != http.StatusNotFound {
				t.Errorf("read after delete: %v", err)
			}
		})
	}
}

func TestPreconditions(t *testing.T) {
	t.Parallel()
	client, _ := start(t, storage.Options{})
	if err := write(t.Context(), client, "any", "x", []byte("1"), 256<<10, 0); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 600_000} { // in one request, and in several
		if err := write(t.Context(), client, "any", "x", make([]byte, size), 256<<10, 0); status(err) != http.StatusPreconditionFailed {
			t.Errorf("%d bytes over what exists: %v", size, err)
		}
	}
	o, err := client.Objects.Get("any", "x").Do()
	if err != nil {
		t.Fatal(err)
	}
	if err := write(t.Context(), client, "any", "x", []byte("2"), 256<<10, o.Generation); err != nil {
		t.Errorf("over the generation read: %v", err)
	}
	if err := write(t.Context(), client, "any", "x", []byte("3"), 256<<10, o.Generation); status(err) != http.StatusPreconditionFailed {
		t.Errorf("over an older generation: %v", err)
	}
	if got := read(t, client, "any", "x", ""); got != "2" {
		t.Errorf("stored: %q", got)
	}
}

// TestChecksums: what arrives damaged is not stored.
func TestChecksums(t *testing.T) {
	t.Parallel()
	client, _ := start(t, storage.Options{})
	for _, o := range []*gcs.Object{{Name: "x", Crc32c: "AAAAAA=="}, {Name: "x", Md5Hash: "AAAAAAAAAAAAAAAAAAAAAA=="}} {
		if _, err := client.Objects.Insert("b", o).Media(strings.NewReader("data")).Do(); status(err) != http.StatusBadRequest {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	client, _ := start(t, storage.Options{})
	for i := range 5 {
		if err := write(t.Context(), client, "b", "p/"+strconv.Itoa(i)+"/f", []byte("x"), 0, anyGeneration); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(t.Context(), client, "b", "q", []byte("x"), 0, anyGeneration); err != nil {
		t.Fatal(err)
	}
	var names []string
	err := client.Objects.List("b").Prefix("p/").MaxResults(2).Pages(t.Context(), func(page *gcs.Objects) error {
		for _, o := range page.Items {
			names = append(names, o.Name)
		}
		return nil
	})
	if got := strings.Join(names, " "); err != nil || got != "p/0/f p/1/f p/2/f p/3/f p/4/f" {
		t.Errorf("names: %s, %v", got, err)
	}
	folders, err := client.Objects.List("b").Delimiter("/").Do()
	if err != nil || len(folders.Prefixes) != 1 || len(folders.Items) != 1 {
		t.Errorf("%+v, %v: want one folder and one file", folders, err)
	}
}

func TestBucketsAndBounds(t *testing.T) {
	t.Parallel()
	client, url := start(t, storage.Options{Buckets: []string{"b"}, MaxSize: 1000})
	if b, err := client.Buckets.Get("b").Do(); err != nil || b.Name != "b" {
		t.Errorf("%+v, %v", b, err)
	}
	if _, err := client.Buckets.Get("other").Do(); status(err) != http.StatusNotFound {
		t.Errorf("other bucket: %v", err)
	}
	put := func(name string, size int) error {
		return write(t.Context(), client, "b", name, make([]byte, size), 256<<10, anyGeneration)
	}
	for range 5 { // what is overwritten or deleted takes no room
		if err := put("x", 900); err != nil {
			t.Fatal(err)
		}
	}
	if err := put("y", 101); status(err) != http.StatusTooManyRequests {
		t.Errorf("beyond the bound: %v", err)
	}
	if err := client.Objects.Delete("b", "x").Do(); err != nil {
		t.Fatal(err)
	}
	if err := put("y", 1000); err != nil {
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
	_, url := start(t, storage.Options{Buckets: []string{"staging"}})
	s, err := blob.Connect(t.Context(), "staging", url)
	if err != nil {
		t.Fatal(err)
	}
	const name = "sessions/s1/results/call-1/报告.txt"
	large := bytes.Repeat([]byte("汉字"), 1<<20)
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
	elsewhere, err := blob.Connect(t.Context(), "nobucket", url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := elsewhere.Put(t.Context(), name, []byte("x"), "text/plain"); err == nil || errs.KindOf(err) != errs.KindPermanent {
		t.Errorf("missing bucket: %v", err)
	}
}
