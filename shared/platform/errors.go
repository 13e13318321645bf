package platform

import "errors"

// ErrTooLong says that the platform refused a text for its length: split it again, smaller, once.
var ErrTooLong = errors.New("text too long for the platform")
