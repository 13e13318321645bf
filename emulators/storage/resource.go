package storage

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// resource is an object's metadata on the wire. Numbers of 64 bits are strings there.
type resource struct {
	Kind           string            `json:"kind,omitempty"`
	ID             string            `json:"id,omitempty"`
	Name           string            `json:"name"`
	Bucket         string            `json:"bucket,omitempty"`
	ContentType    string            `json:"contentType,omitempty"`
	Size           string            `json:"size,omitempty"`
	MD5Hash        string            `json:"md5Hash,omitempty"`
	CRC32C         string            `json:"crc32c,omitempty"`
	Generation     string            `json:"generation,omitempty"`
	Metageneration string            `json:"metageneration,omitempty"`
	StorageClass   string            `json:"storageClass,omitempty"`
	ETag           string            `json:"etag,omitempty"`
	TimeCreated    *time.Time        `json:"timeCreated,omitempty"`
	Updated        *time.Time        `json:"updated,omitempty"`
	MediaLink      string            `json:"mediaLink,omitempty"`
	Metadata       map[string]string `json:"metadata,omitempty"`
}

type listPage struct {
	Kind          string     `json:"kind"`
	NextPageToken string     `json:"nextPageToken,omitempty"`
	Prefixes      []string   `json:"prefixes,omitempty"`
	Items         []resource `json:"items,omitempty"`
}

func (o *object) resource() resource {
	generation := strconv.FormatInt(o.generation, 10)
	return resource{
		Kind: "storage#object", ID: o.bucket + "/" + o.name + "/" + generation, Name: o.name, Bucket: o.bucket,
		ContentType: o.contentType, Size: strconv.Itoa(len(o.data)), MD5Hash: md5Of(o.data), CRC32C: crcOf(o.data),
		Generation: generation, Metageneration: "1", StorageClass: "STANDARD", ETag: o.etag(), TimeCreated: &o.created, Updated: &o.created,
		MediaLink: "/download/storage/v1/b/" + o.bucket + "/o/" + url.PathEscape(o.name) + "?alt=media&generation=" + generation,
		Metadata:  o.metadata,
	}
}

func (o *object) etag() string { return "g" + strconv.FormatInt(o.generation, 10) }

func (s *server) getBucket(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("bucket")
	if !s.bucketExists(w, name) {
		return
	}
	answer(w, map[string]string{
		"kind": "storage#bucket", "id": name, "name": name, "location": "US", "locationType": "multi-region",
		"storageClass": "STANDARD", "metageneration": "1", "etag": "b1",
	})
}

// getObject serves metadata, or the media if the query asks for it.
func (s *server) getObject(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("alt") == "media" {
		s.download(w, r)
		return
	}
	if !s.bucketExists(w, r.PathValue("bucket")) {
		return
	}
	o, err := s.find(r.PathValue("bucket"), r.PathValue("object"))
	if err == nil {
		err = matchGeneration(r, o)
	}
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, o.resource())
}

// download serves the media with the headers that clients check; ranges are the standard library's.
func (s *server) download(w http.ResponseWriter, r *http.Request) {
	if !s.bucketExists(w, r.PathValue("bucket")) {
		return
	}
	o, err := s.find(r.PathValue("bucket"), r.PathValue("object"))
	if err == nil {
		err = matchGeneration(r, o)
	}
	if err != nil {
		fail(w, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", o.contentType)
	h.Set("Etag", `"`+o.etag()+`"`)
	h.Set("X-Goog-Generation", strconv.FormatInt(o.generation, 10))
	h.Set("X-Goog-Metageneration", "1")
	h.Set("X-Goog-Stored-Content-Length", strconv.Itoa(len(o.data)))
	h.Set("X-Goog-Stored-Content-Encoding", "identity")
	h.Add("X-Goog-Hash", "crc32c="+crcOf(o.data))
	h.Add("X-Goog-Hash", "md5="+md5Of(o.data))
	http.ServeContent(w, r, "", o.created, bytes.NewReader(o.data))
}

// matchGeneration answers 404 for a generation that is no more, as the service does without versioning.
func matchGeneration(r *http.Request, o *object) error {
	if g := r.URL.Query().Get("generation"); g != "" && g != strconv.FormatInt(o.generation, 10) {
		return failure{http.StatusNotFound, "notFound", "No such object: " + o.bucket + "/" + o.name + "#" + g}
	}
	return nil
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	writeJSON(w, v)
}

func writeJSON(w http.ResponseWriter, v any) {
	_ = json.NewEncoder(w).Encode(v) // all that can fail is the connection, and nobody is left there to tell
}
