package subjects

import (
	"fmt"
	"strings"
)

// emptyToken stands for the empty name: a lone escape sign, which no other name encodes to.
const emptyToken = "="

const upperHex = "0123456789ABCDEF"

// plain says that a byte of a name stands for itself: letters, digits, '-' and '_'.
func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// Encode turns any name into exactly one subject token that is also a valid part of a KV key. DNS
// labels stay as they are; every other byte becomes =XX, so "ns/web" is "ns=2Fweb". Two names never
// share a token.
func Encode(name string) string {
	if name == "" {
		return emptyToken
	}
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; plain(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'=', upperHex[c>>4], upperHex[c&15]})
		}
	}
	return b.String()
}

// Decode is the inverse of Encode. It refuses what Encode cannot have made, so that a name has one
// token only.
func Decode(token string) (string, error) {
	if token == emptyToken {
		return "", nil
	}
	name := make([]byte, 0, len(token))
	for i := 0; i < len(token); i++ {
		if plain(token[i]) {
			name = append(name, token[i])
			continue
		}
		c, ok := unescape(token[i:])
		if !ok {
			return "", fmt.Errorf("token %q: found %q at byte %d, expected letters, digits, '-', '_' or =XX", token, token[i], i)
		}
		name = append(name, c)
		i += 2
	}
	if len(name) == 0 {
		return "", fmt.Errorf("token is empty, expected %q for the empty name", emptyToken)
	}
	return string(name), nil
}

// unescape reads =XX at the start of s; XX must be upper case and of a byte that needs escaping.
func unescape(s string) (byte, bool) {
	if len(s) < 3 || s[0] != '=' {
		return 0, false
	}
	high, low := strings.IndexByte(upperHex, s[1]), strings.IndexByte(upperHex, s[2])
	if high < 0 || low < 0 {
		return 0, false
	}
	c := byte(high<<4 | low)
	return c, !plain(c)
}

// CheckLabel says what is wrong with the name of a fleet or member, which must be a DNS label:
// 1 to 63 lower-case letters, digits and '-', beginning and ending with a letter or digit.
func CheckLabel(what, name string) error {
	ok := len(name) > 0 && len(name) <= 63 && name[0] != '-' && name[len(name)-1] != '-'
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-'
	}
	if !ok {
		return fmt.Errorf("%s name %q: expected a DNS label, 1 to 63 lower-case letters, digits and '-', beginning and ending with a letter or digit", what, name)
	}
	return nil
}
