package storage

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// upload is a resumable upload under way.
type upload struct {
	bucket, cond string
	meta         resource
	data         []byte
}

// insert begins or does an upload, by its type.
func (s *server) insert(w http.ResponseWriter, r *http.Request) {
	if !s.bucketExists(w, r.PathValue("bucket")) {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, int64(s.opts.MaxSize)+maxMeta)
	switch q := r.URL.Query(); {
	case q.Get("upload_id") != "":
		s.resume(w, r)
	case q.Get("uploadType") == "multipart":
		meta, data, err := readMultipart(r)
		s.finish(w, r, meta, data, err)
	case q.Get("uploadType") == "media":
		data, err := io.ReadAll(r.Body)
		s.finish(w, r, resource{ContentType: r.Header.Get("Content-Type")}, data, err)
	case q.Get("uploadType") == "resumable":
		s.begin(w, r)
	default:
		fail(w, failure{http.StatusBadRequest, "invalid", "Invalid value for uploadType: " + q.Get("uploadType")})
	}
}

// readMultipart reads the two parts of multipart/related: metadata and media.
func readMultipart(r *http.Request) (meta resource, data []byte, err error) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return meta, nil, fmt.Errorf("content type: %w", err)
	}
	parts := multipart.NewReader(r.Body, params["boundary"])
	first, err := parts.NextPart()
	if err != nil {
		return meta, nil, fmt.Errorf("metadata part: %w", err)
	}
	if err := json.NewDecoder(io.LimitReader(first, maxMeta)).Decode(&meta); err != nil {
		return meta, nil, fmt.Errorf("metadata: %w", err)
	}
	second, err := parts.NextPart()
	if err != nil {
		return meta, nil, fmt.Errorf("media part: %w", err)
	}
	meta.ContentType = cmp.Or(meta.ContentType, second.Header.Get("Content-Type"))
	data, err = io.ReadAll(second)
	return meta, data, err
}

// finish stores what an upload in one request brought.
func (s *server) finish(w http.ResponseWriter, r *http.Request, meta resource, data []byte, err error) {
	if err == nil {
		err = s.store(w, r.PathValue("bucket"), cmp.Or(r.URL.Query().Get("name"), meta.Name), meta, data, r.URL.Query().Get("ifGenerationMatch"), 0)
	}
	if err != nil {
		fail(w, err)
	}
}

// store checks name and checksums, stores, and answers with the object's metadata.
func (s *server) store(w http.ResponseWriter, bucket, name string, meta resource, data []byte, cond string, reserved int) error {
	switch {
	case name == "" || len(name) > maxName || strings.ContainsAny(name, "\r\n") || name == "." || name == "..":
		return failure{http.StatusBadRequest, "invalid", "Invalid object name"}
	case meta.CRC32C != "" && meta.CRC32C != crcOf(data):
		return failure{http.StatusBadRequest, "invalid", "Provided CRC32C doesn't match calculated CRC32C"}
	case meta.MD5Hash != "" && meta.MD5Hash != md5Of(data):
		return failure{http.StatusBadRequest, "invalid", "Provided MD5 hash doesn't match calculated MD5 hash"}
	}
	o := &object{
		bucket: bucket, name: name, data: data, metadata: meta.Metadata,
		contentType: cmp.Or(meta.ContentType, "application/octet-stream"),
	}
	if err := s.put(o, cond, reserved); err != nil {
		return err
	}
	answer(w, o.resource())
	return nil
}

// begin opens a resumable upload. As at the service its precondition is looked at now and again at the end.
func (s *server) begin(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	u := &upload{bucket: r.PathValue("bucket"), cond: q.Get("ifGenerationMatch")}
	err := json.NewDecoder(io.LimitReader(r.Body, maxMeta)).Decode(&u.meta)
	if err != nil && !errors.Is(err, io.EOF) { // a body is optional where the query has the name
		fail(w, err)
		return
	}
	u.meta.Name = cmp.Or(q.Get("name"), u.meta.Name)
	u.meta.ContentType = cmp.Or(u.meta.ContentType, r.Header.Get("X-Upload-Content-Type"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := checkGeneration(u.cond, s.objects[u.bucket+"/"+u.meta.Name]); err != nil {
		fail(w, err)
		return
	}
	if len(s.uploads) >= maxUploads {
		fail(w, failure{http.StatusTooManyRequests, "rateLimitExceeded", "too many uploads under way"})
		return
	}
	s.nextUpload++
	id := strconv.Itoa(s.nextUpload)
	s.uploads[id] = u
	// The address is the server's own, as the client reached it.
	w.Header().Set("Location", "http://"+r.Host+r.URL.Path+"?uploadType=resumable&upload_id="+id)
	w.WriteHeader(http.StatusOK)
}

var contentRange = regexp.MustCompile(`^bytes (?:(\d{1,12})-(\d{1,12})|\*)/(\*|\d{1,12})$`)

// resume takes one chunk of a resumable upload, or tells how much has come.
func (s *server) resume(w http.ResponseWriter, r *http.Request) {
	chunk, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(s.opts.MaxSize)))
	if err != nil {
		fail(w, err)
		return
	}
	id := r.URL.Query().Get("upload_id")
	u, have, err := s.add(id, r.Header.Get("Content-Range"), chunk)
	if err != nil {
		fail(w, err)
		return
	}
	if u == nil {
		incomplete(w, r, have)
		return
	}
	if hash, ok := strings.CutPrefix(r.Header.Get("X-Goog-Hash"), "crc32c="); ok {
		u.meta.CRC32C = cmp.Or(u.meta.CRC32C, hash)
	}
	if err := s.store(w, u.bucket, u.meta.Name, u.meta, u.data, u.cond, len(u.data)); err != nil {
		s.mu.Lock()
		s.size -= len(u.data)
		s.mu.Unlock()
		fail(w, err)
	}
}

// add appends the chunk and returns how many bytes have come; with the last one it takes the upload off the list and returns it. A chunk
// that has come already, because the answer to it was lost, counts once.
func (s *server) add(id, header string, chunk []byte) (done *upload, have int, err error) {
	m := contentRange.FindStringSubmatch(header)
	if m == nil {
		return nil, 0, failure{http.StatusBadRequest, "invalid", "Invalid Content-Range: " + header}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.uploads[id]
	if !ok {
		return nil, 0, failure{http.StatusNotFound, "notFound", "No such upload"}
	}
	if m[1] != "" {
		first, _ := strconv.Atoi(m[1]) // the expression lets at most twelve digits through
		last, _ := strconv.Atoi(m[2])
		if last-first+1 != len(chunk) || first > len(u.data) {
			return nil, 0, failure{http.StatusBadRequest, "invalid", "Content-Range does not fit: " + header}
		}
		fresh := chunk[min(len(u.data)-first, len(chunk)):]
		if s.size+len(fresh) > s.opts.MaxSize {
			return nil, 0, failure{http.StatusTooManyRequests, "rateLimitExceeded", "the stand-in is full"}
		}
		u.data = append(u.data, fresh...)
		s.size += len(fresh)
	}
	if total, err := strconv.Atoi(m[3]); err != nil || total != len(u.data) {
		return nil, len(u.data), nil
	}
	delete(s.uploads, id)
	return u, len(u.data), nil
}

// incomplete is the protocol's 308, which newer clients ask to be told as 200 with a header.
func incomplete(w http.ResponseWriter, r *http.Request, have int) {
	if have > 0 {
		w.Header().Set("Range", "bytes=0-"+strconv.Itoa(have-1))
	}
	if r.Header.Get("X-Guploader-No-308") == "yes" {
		w.Header().Set("X-Http-Status-Code-Override", "308")
		w.WriteHeader(http.StatusOK)
		return
	}
	w.WriteHeader(http.StatusPermanentRedirect)
}
