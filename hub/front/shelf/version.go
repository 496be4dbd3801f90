package shelf

import (
	"fmt"
	"strconv"
	"strings"
)

// A resourceVersion of the Kubernetes API is one number that grows: the epoch of the fleet's records, behind it the revision of
// the record, and in the last bits how often the object changed at that revision, by what members said.
const (
	echoBits     = 8
	revisionBits = 44
)

// Numbered makes one number of a version of the door, "<epoch>.<revision>"; 0 of an empty one.
func Numbered(version string) (uint64, error) {
	if version == "" {
		return 0, nil
	}
	epoch, revision, _ := strings.Cut(version, ".")
	e, err := strconv.ParseUint(epoch, 10, 11)
	if err != nil {
		return 0, fmt.Errorf("found version %q of a record, expected an epoch and a revision", version)
	}
	r, err := strconv.ParseUint(revision, 10, revisionBits)
	if err != nil {
		return 0, fmt.Errorf("found version %q of a record, expected an epoch and a revision", version)
	}
	return e<<(revisionBits+echoBits) | r<<echoBits, nil
}

// Printed is a number as clients have it.
func Printed(number uint64) string { return strconv.FormatUint(number, 10) }

// Asked reads a resourceVersion that a client sends.
func Asked(version string) (uint64, error) {
	if version == "" {
		return 0, nil
	}
	number, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("found resourceVersion %q, expected a number that this API gave", version)
	}
	return number, nil
}
