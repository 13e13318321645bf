// Package media keeps the files that people attach to messages: bounded, in memory, by a name nobody can guess.
package media

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"path"
	"strings"
)

const (
	maxFiles  = 10       // of one message
	maxUpload = 5 << 20  // bytes of one file
	maxMedia  = 64 << 20 // bytes of all files; beyond it the oldest are forgotten
)

// Upload is a file that comes with a message, at most 5 MiB.
type Upload struct {
	Name string
	Type string // MIME type
	Data []byte
}

// File is an upload that is kept.
type File struct {
	Upload
	Space string
}

// Store keeps files. Its zero value is empty and ready; it is not safe for concurrent use.
type Store struct {
	files map[string]File // by resource name
	order []string
	size  int
}

// Check fails on more, larger or stranger files than a message can have.
func Check(files []Upload) error {
	if len(files) > maxFiles {
		return fmt.Errorf("%d files are more than %d", len(files), maxFiles)
	}
	for _, f := range files {
		if len(f.Data) > maxUpload || f.Name == "" || len(f.Name) > 255 {
			return fmt.Errorf("file %.80q: a name and at most %d bytes are needed", f.Name, maxUpload)
		}
	}
	return nil
}

// Put keeps a checked file and returns its resource name.
func (s *Store) Put(space string, u Upload) (resource string, kept File) {
	if u.Type == "" || strings.ContainsAny(u.Type, "\r\n") {
		u.Type = "application/octet-stream"
	}
	u.Name = path.Base(u.Name)
	kept = File{Upload: u, Space: space}
	b := make([]byte, 24)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process instead
	resource = base64.RawURLEncoding.EncodeToString(b)
	if s.files == nil {
		s.files = map[string]File{}
	}
	s.files[resource] = kept
	s.order = append(s.order, resource)
	for s.size += len(u.Data); s.size > maxMedia; s.order = s.order[1:] {
		s.size -= len(s.files[s.order[0]].Data)
		delete(s.files, s.order[0])
	}
	return resource, kept
}

// Get returns a file that is still kept.
func (s *Store) Get(resource string) (File, bool) {
	f, ok := s.files[resource]
	return f, ok
}
