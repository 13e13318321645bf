// Package storage stands in for Cloud Storage: enough of its JSON API for a client library to write, read, list and delete objects. It knows the public protocol and nothing of who calls it. Objects live in memory, within bounds.
package storage

import (
	"cmp"
	"crypto/md5" //nolint:gosec // the protocol's own checksum field, no protection
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options bound the stand-in. Zero values mean the defaults named beside them.
type Options struct {
	Buckets []string         // the buckets that exist; none named means that every bucket does
	MaxSize int              // bytes of all objects together; 512 MiB
	Now     func() time.Time // time.Now
}

const (
	maxObjects = 10_000
	maxUploads = 100     // resumable uploads under way
	maxMeta    = 1 << 20 // bytes of an object's metadata
	maxName    = 1024    // bytes of an object's name, as documented
)

// object is one stored object. It never changes: an overwrite makes a new one.
type object struct {
	bucket, name string
	data         []byte
	contentType  string
	metadata     map[string]string
	generation   int64
	created      time.Time
}

// server keeps the objects.
type server struct {
	opts       Options
	mu         sync.Mutex
	objects    map[string]*object // by bucket + "/" + name
	uploads    map[string]*upload
	size       int // bytes of all objects and unfinished uploads
	generation int64
	nextUpload int
}

// New returns the stand-in, ready to be a client's STORAGE_EMULATOR_HOST.
func New(opts Options) http.Handler {
	if opts.MaxSize <= 0 {
		opts.MaxSize = 512 << 20
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := &server{opts: opts, objects: map[string]*object{}, uploads: map[string]*upload{}}
	mux := http.NewServeMux()
	// Object names hold slashes, escaped or plain; {object...} reads both.
	mux.HandleFunc("GET /storage/v1/b/{bucket}", s.getBucket)
	mux.HandleFunc("GET /storage/v1/b/{bucket}/o", s.list)
	mux.HandleFunc("GET /storage/v1/b/{bucket}/o/{object...}", s.getObject)
	mux.HandleFunc("DELETE /storage/v1/b/{bucket}/o/{object...}", s.delete)
	mux.HandleFunc("POST /upload/storage/v1/b/{bucket}/o", s.insert)
	mux.HandleFunc("PUT /upload/storage/v1/b/{bucket}/o", s.resume)
	mux.HandleFunc("GET /download/storage/v1/b/{bucket}/o/{object...}", s.download)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, failure{http.StatusNotFound, "notFound", "no such method: " + r.Method + " " + r.URL.Path})
	})
	return mux
}

// bucketExists writes the protocol's 404 if it does not.
func (s *server) bucketExists(w http.ResponseWriter, bucket string) bool {
	if len(s.opts.Buckets) == 0 || slices.Contains(s.opts.Buckets, bucket) {
		return true
	}
	fail(w, failure{http.StatusNotFound, "notFound", "The specified bucket does not exist."})
	return false
}

func (s *server) find(bucket, name string) (*object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[bucket+"/"+name]
	if !ok {
		return nil, failure{http.StatusNotFound, "notFound", "No such object: " + bucket + "/" + name}
	}
	return o, nil
}

// put stores o if the precondition holds and there is room. reserved bytes of it are counted already.
func (s *server) put(o *object, cond string, reserved int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := o.bucket + "/" + o.name
	old := s.objects[key]
	if err := checkGeneration(cond, old); err != nil {
		return err
	}
	freed := 0
	if old != nil {
		freed = len(old.data)
	}
	if size := s.size + len(o.data) - reserved - freed; size > s.opts.MaxSize || (old == nil && len(s.objects) >= maxObjects) {
		return failure{http.StatusTooManyRequests, "rateLimitExceeded", "the stand-in is full"}
	}
	s.size += len(o.data) - reserved - freed
	s.generation = max(s.generation+1, s.opts.Now().UnixMicro()) // as the service counts them
	o.generation, o.created = s.generation, s.opts.Now().UTC()
	s.objects[key] = o
	return nil
}

// checkGeneration holds ifGenerationMatch against what is stored: 0 means that nothing may be.
func checkGeneration(cond string, old *object) error {
	if cond == "" {
		return nil
	}
	want, err := strconv.ParseInt(cond, 10, 64)
	if err != nil {
		return failure{http.StatusBadRequest, "invalid", "Invalid value for ifGenerationMatch: " + cond}
	}
	var have int64
	if old != nil {
		have = old.generation
	}
	if want != have {
		return failure{http.StatusPreconditionFailed, "conditionNotMet", "At least one of the pre-conditions you specified did not hold."}
	}
	return nil
}

func (s *server) delete(w http.ResponseWriter, r *http.Request) {
	bucket, name := r.PathValue("bucket"), r.PathValue("object")
	if !s.bucketExists(w, bucket) {
		return
	}
	old, err := s.find(bucket, name)
	if err != nil {
		fail(w, err)
		return
	}
	s.mu.Lock()
	if s.objects[bucket+"/"+name] == old {
		delete(s.objects, bucket+"/"+name)
		s.size -= len(old.data)
	}
	s.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// list pages through names in their order; a page token is the last name of the page before.
func (s *server) list(w http.ResponseWriter, r *http.Request) {
	bucket, q := r.PathValue("bucket"), r.URL.Query()
	if !s.bucketExists(w, bucket) {
		return
	}
	after, err := base64.URLEncoding.DecodeString(q.Get("pageToken"))
	if err != nil {
		fail(w, failure{http.StatusBadRequest, "invalid", "Invalid pageToken"})
		return
	}
	limit, err := strconv.Atoi(cmp.Or(q.Get("maxResults"), "1000"))
	if err != nil || limit < 1 || limit > 1000 {
		limit = 1000
	}
	found := s.matching(bucket, q.Get("prefix"), string(after))
	page := listPage{Kind: "storage#objects", Prefixes: []string{}}
	for _, o := range found {
		if folder, ok := folderOf(o.name, q.Get("prefix"), q.Get("delimiter")); ok {
			if !slices.Contains(page.Prefixes, folder) {
				page.Prefixes = append(page.Prefixes, folder)
			}
			continue
		}
		if len(page.Items) == limit {
			page.NextPageToken = base64.URLEncoding.EncodeToString([]byte(page.Items[limit-1].Name))
			break
		}
		page.Items = append(page.Items, o.resource())
	}
	answer(w, page)
}

func (s *server) matching(bucket, prefix, after string) []*object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*object
	for _, o := range s.objects {
		if o.bucket == bucket && strings.HasPrefix(o.name, prefix) && o.name > after {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b *object) int { return strings.Compare(a.name, b.name) })
	return found
}

// folderOf returns the part of name up to the first delimiter after prefix.
func folderOf(name, prefix, delimiter string) (string, bool) {
	if delimiter == "" {
		return "", false
	}
	head, _, ok := strings.Cut(name[len(prefix):], delimiter)
	return prefix + head + delimiter, ok
}

func crcOf(data []byte) string {
	sum := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

func md5Of(data []byte) string {
	sum := md5.Sum(data) //nolint:gosec // the protocol's own checksum field, no protection
	return base64.StdEncoding.EncodeToString(sum[:])
}

// failure is an error as the service tells it.
type failure struct {
	status  int
	reason  string
	message string
}

func (f failure) Error() string { return fmt.Sprintf("%d %s: %s", f.status, f.reason, f.message) }

// fail writes err in the service's form. What is no failure of ours is the caller's broken request.
func fail(w http.ResponseWriter, err error) {
	var f failure
	if !errors.As(err, &f) {
		f = failure{http.StatusBadRequest, "invalid", err.Error()}
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(f.status)
	writeJSON(w, map[string]any{"error": map[string]any{
		"code": f.status, "message": f.message,
		"errors": []map[string]any{{"domain": "global", "reason": f.reason, "message": f.message}},
	}})
}
