package api

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ParseToken is the inverse of String. Errors do not show the text.
func ParseToken(text string) (Token, error) {
	var t Token
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, tokenPrefix)
	switch {
	case text == "":
		return t, errors.New("the token is empty, as when `flotilla member enrol` failed: make it again")
	case !ok || len(text) > maxToken:
		return t, fmt.Errorf("found %d characters that are no token, expected what `flotilla member enrol` prints, which begins with %s", len(text), tokenPrefix)
	}
	body, err := base64.RawURLEncoding.DecodeString(rest)
	if err == nil {
		err = json.Unmarshal(body, &t)
	}
	if err != nil {
		return Token{}, fmt.Errorf("the token cannot be read, part of it may be missing: copy the whole line that `flotilla member enrol` prints (%w)", err)
	}
	if faults := append(CheckMember("fleet", t.Fleet), CheckMember("member", t.Member)...); len(faults) > 0 {
		return Token{}, fmt.Errorf("the token is damaged: %w", faults)
	}
	if t.Seed == "" {
		return Token{}, errors.New("the token is damaged: it holds no key")
	}
	return t, nil
}
