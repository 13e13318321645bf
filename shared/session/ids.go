package session

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// MessageID names the message with that seq. It is a hash, so that ids written fast do not rise together in one range of an index, and
// it can be computed, so that the tail of a session is read by its names and never searched for.
func MessageID(sessionID string, seq int64) string {
	sum := sha256.Sum256([]byte(sessionID + "/" + strconv.FormatInt(seq, 10)))
	return hex.EncodeToString(sum[:12])
}
