// Package weigh tells, before it is sent, what no Firestore document can hold.
package weigh

import (
	"reflect"
	"time"
	"unicode/utf8"

	"kesoku.dev/shared/errs"
)

// maxDocument is how many bytes of text and data a document may hold. Firestore's own limit is 1 MiB with names and overhead.
const maxDocument = 1_000_000

// Check returns a permanent error for what no document can hold. The SDK would report invalid UTF-8 like a failed connection, and retry
// what is far too large for a minute.
func Check(what string, v any) error {
	size, valid := weigh(reflect.ValueOf(v))
	switch {
	case !valid:
		return errs.Permanentf("store %s: text is not valid UTF-8", what)
	case size > maxDocument:
		return errs.Permanentf("store %s: %d bytes are more than the %d that fit", what, size, maxDocument)
	}
	return nil
}

// weigh adds up the bytes of all text and data under v, and says whether the text is valid.
func weigh(v reflect.Value) (size int, valid bool) {
	valid = true
	add := func(part reflect.Value) {
		n, ok := weigh(part)
		size, valid = size+n, valid && ok
	}
	switch v.Kind() {
	case reflect.String:
		return v.Len(), utf8.ValidString(v.String())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Len(), true
		}
		for i := range v.Len() {
			add(v.Index(i))
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			add(key)
			add(value)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			add(v.Elem())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return 0, true // and its Location is nothing that is stored
		}
		for i := range v.NumField() {
			add(v.Field(i))
		}
	default: // numbers and the like weigh nothing to speak of
	}
	return size, valid
}
