package validate

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"flotilla/core/api"
)

// Token is the inverse of String. Errors do not show the text.
func Token(text string) (api.Token, error) {
	var t api.Token
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, api.TokenPrefix)
	switch {
	case text == "":
		return t, errors.New("the token is empty, as when `flotilla member enrol` failed: make it again")
	case !ok || len(text) > api.MaxToken:
		return t, fmt.Errorf("found %d characters that are no token, expected what `flotilla member enrol` prints, which begins with %s", len(text), api.TokenPrefix)
	}
	body, err := base64.RawURLEncoding.DecodeString(rest)
	if err == nil {
		err = json.Unmarshal(body, &t)
	}
	if err != nil {
		return api.Token{}, fmt.Errorf("the token cannot be read, part of it may be missing: copy the whole line that `flotilla member enrol` prints (%w)", err)
	}
	if faults := append(MemberName("fleet", t.Fleet), MemberName("member", t.Member)...); len(faults) > 0 {
		return api.Token{}, fmt.Errorf("the token is damaged: %w", faults)
	}
	if t.Seed == "" {
		return api.Token{}, errors.New("the token is damaged: it holds no key")
	}
	return t, nil
}
