package api

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Token is what an agent needs to enrol: where, as whom, and a key that it may use once.
type Token struct {
	Fleet  string `json:"fleet"`
	Member string `json:"member"`
	// URL of the servers, comma separated.
	URL string `json:"url,omitempty"`
	// CA is the authority of the servers' certificates in PEM; empty where machines know it.
	CA string `json:"ca,omitempty"`
	// HubKey is the public curve key (X…) of the hub: what it seals to the agent opens with that key alone.
	HubKey string `json:"hubKey,omitempty"`
	// Seed is the key (SU…) that the hub knows the public part of.
	Seed string `json:"seed"`
	// Credentials is the user JWT of that key, which may ask to be enrolled and nothing else; empty where
	// somebody else makes credentials.
	Credentials string `json:"credentials,omitempty"`
}

const (
	tokenPrefix = "flotilla-token."
	maxToken    = 32 << 10
)

// String is the token as people hand it over, one word. It is a secret until it was used.
func (t Token) String() string {
	text, _ := json.Marshal(t) // a struct of strings always marshals
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(text)
}

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
