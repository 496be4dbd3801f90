package api

import (
	"encoding/base64"
	"encoding/json"
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
	// TokenPrefix begins every token.
	TokenPrefix = "flotilla-token."
	// MaxToken is how long a token may be, in bytes.
	MaxToken = 32 << 10
)

// OverTLS is where servers are, comma separated, said so that a client goes on with none that does not speak TLS.
func OverTLS(servers string) string {
	all := strings.Split(servers, ",")
	for i, server := range all {
		scheme, rest, found := strings.Cut(strings.TrimSpace(server), "://")
		switch {
		case !found && scheme != "":
			all[i] = "tls://" + scheme
		case strings.EqualFold(scheme, "nats"):
			all[i] = "tls://" + rest
		case strings.EqualFold(scheme, "ws"):
			all[i] = "wss://" + rest
		}
	}
	return strings.Join(all, ",")
}

// String is the token as people hand it over, one word. It is a secret until it was used.
func (t Token) String() string {
	text, _ := json.Marshal(t) // a struct of strings always marshals
	return TokenPrefix + base64.RawURLEncoding.EncodeToString(text)
}
