package errs

import (
	"errors"
	"fmt"
	"reflect"
)

// Unset returns an error that names every field of the struct deps that has its zero value, or nil. Constructors refuse missing
// dependencies with it.
func Unset(op string, deps any) error {
	var problems []error
	v := reflect.ValueOf(deps)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			problems = append(problems, fmt.Errorf("%s: %s is missing", op, v.Type().Field(i).Name))
		}
	}
	return errors.Join(problems...)
}
