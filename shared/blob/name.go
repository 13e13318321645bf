package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"kesoku.dev/shared/errs"
)

const (
	root       = "sessions"
	maxSegment = 128 // bytes of a session, kind or id
	maxFile    = 180 // bytes of a file name; all together stay far below the service's 1,024
	maxExt     = 16  // bytes of an extension that is kept when a name is cut
)

// Name returns the object name sessions/<session>/<kind>/<id>/<file>. It is safe whatever its parts hold: what an object name should
// not have becomes "_", and session, kind and id that change on the way get a hash, so that no two become one. It is an error if one of
// these is empty. Applied to its own parts it changes nothing.
func Name(session, kind, id, file string) (string, error) {
	for _, part := range []string{session, kind, id} {
		if part == "" {
			return "", errs.Permanentf("name of a blob: session %q, kind %q and id %q must not be empty", session, kind, id)
		}
	}
	return strings.Join([]string{root, safeID(session), safeID(kind), safeID(id), safeFile(file)}, "/"), nil
}

// canonical is Name applied to the parts of a name.
func canonical(name string) (string, error) {
	parts := strings.SplitN(name, "/", 5)
	if len(parts) != 5 || parts[0] != root {
		return "", errs.Permanent(fmt.Errorf("blob %.200q: its name is not %s/<session>/<kind>/<id>/<file>", name, root))
	}
	return Name(parts[1], parts[2], parts[3], parts[4])
}

// safeID keeps ASCII letters, digits, dots, dashes and underscores.
func safeID(id string) string {
	clean := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-", r)) {
			return r
		}
		return '_'
	}, id)
	if strings.Trim(clean, ".") == "" {
		clean = "_"
	}
	if clean == id && len(id) <= maxSegment {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return clean[:min(len(clean), maxSegment-17)] + "-" + hex.EncodeToString(sum[:8])
}

// safeFile keeps a file name readable, in any script: NFC, on one line, without separators, wildcards, control and direction marks.
func safeFile(file string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, strings.ContainsRune(`/\:*?"<>|#[]%`, r):
			return '_'
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		default:
			return r
		}
	}, norm.NFC.String(strings.ToValidUTF8(file, "_")))
	name = trim(strings.Join(strings.Fields(name), " "))
	if len(name) > maxFile {
		ext := path.Ext(name)
		if len(ext) > maxExt {
			ext = ""
		}
		stem := name[:maxFile-len(ext)]
		for !utf8.ValidString(stem) {
			stem = stem[:len(stem)-1]
		}
		name = trim(stem) + ext
	}
	if name == "" {
		return "file"
	}
	return name
}

// trim drops leading and trailing dots and spaces, which hide a file or vanish on some systems.
func trim(name string) string { return strings.Trim(name, ". ") }
