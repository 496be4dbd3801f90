package cli

import (
	"crypto/rand"
	"encoding/hex"
)

// randomToken names one request, so that a repeat of it is answered and not done again.
func randomToken() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never errs, crypto/rand says so since Go 1.24
	return hex.EncodeToString(b[:])
}
