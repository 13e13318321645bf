// Package folder is the operator's copy of the configuration: reading it from a folder and writing it back, what differs between two states
// of it, and which rule gives each setting of a route. It knows files and shared/config; it knows no database.
package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// maxFile bounds what is read of one file, in bytes; the whole configuration has to be smaller still.
const maxFile = 512 << 10

// Read reads all files of a configuration folder by their slash-separated names, leaving out hidden ones.
func Read(dir string) (map[string]string, error) {
	root, err := os.OpenRoot(dir) // nothing outside is read, whatever links lie in it
	if err != nil {
		return nil, fmt.Errorf("open configuration folder: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing is written
	files := map[string]string{}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		text, err := readFile(root, name)
		files[name] = text
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read configuration folder %s: %w", dir, err)
	}
	return files, nil
}

func readFile(root *os.Root, name string) (string, error) {
	info, err := root.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return "", fmt.Errorf("%s: only files of at most %d bytes are read", name, maxFile)
	}
	text, err := root.ReadFile(name)
	return string(text), err
}

// ErrDiffers says that a file to be written is there already with other content.
var ErrDiffers = errors.New("the folder has changes of its own")

// Write writes the files into a folder, which is made if need be, and returns the names of those that changed. Unless force is set it writes
// nothing and returns ErrDiffers if that would overwrite something. Names come from a database: one that leads outside is refused.
func Write(dir string, files map[string]string, force bool) (changed []string, err error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("make configuration folder: %w", err)
	}
	here, err := Read(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, there := here[name]
		switch {
		case there && text == files[name]:
		case there && !force:
			return nil, fmt.Errorf("write %s: %w", path.Join(dir, name), ErrDiffers)
		default:
			changed = append(changed, name)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open configuration folder: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, name := range changed {
		if err := root.MkdirAll(path.Dir(name), 0o750); err != nil {
			return nil, fmt.Errorf("make folder of %s: %w", name, err)
		}
		if err := root.WriteFile(name, []byte(files[name]), 0o640); err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
	}
	return changed, nil
}

// Diff returns in unified form what leads from one state to the other, file by file; empty if nothing does.
func Diff(from, to map[string]string) string {
	all := maps.Clone(from)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, to)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		_, was := from[name]
		_, is := to[name]
		oldLabel, newLabel := "published/"+name, "new/"+name
		if !was {
			oldLabel = os.DevNull
		}
		if !is {
			newLabel = os.DevNull
		}
		b.WriteString(udiff.Unified(oldLabel, newLabel, from[name], to[name]))
	}
	return b.String()
}
