package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/configs/files"
	"flotilla/core/api"
)

// leastLeft is for how long a token that was kept has to hold to be shown.
const leastLeft = api.APITokenLife / 6

// keptToken is a token as it is kept.
type keptToken struct {
	Token string      `json:"token"`
	Ends  metav1.Time `json:"ends"`
	// For is the process that it was given to last. A program asks once, and again only where the token was refused.
	For int `json:"for"`
}

// tokenPlace is the file in which a token of some credentials on a hub is kept; empty: none is.
type tokenPlace string

// tokenPlace is that of the hub and the credentials of this run. Without a file of credentials nothing is kept: another
// person might be given the token.
func (a commands) tokenPlace() tokenPlace {
	variables, err := a.Variables()
	if err != nil || a.Cache == "" {
		return ""
	}
	hash, named := sha256.New(), ""
	for _, v := range variables {
		_, _ = fmt.Fprintf(hash, "%s=%q\n", v.Name, v.Value)
		if v.Name == "NATS_CREDS" {
			named = v.Value
		}
	}
	creds, err := files.Read(named, files.Small)
	if err != nil {
		return ""
	}
	_, _ = hash.Write(creds)
	return tokenPlace(filepath.Join(a.Cache, "tokens", hex.EncodeToString(hash.Sum(nil))+".json"))
}

// read is the token that is kept, if it holds for a while.
func (p tokenPlace) read(now time.Time) (kept keptToken, found bool) {
	text, err := files.Read(string(p), files.Small)
	if err != nil || json.Unmarshal(text, &kept) != nil {
		return kept, false
	}
	return kept, kept.Token != "" && kept.Ends.Sub(now) >= leastLeft
}

// keep keeps a token. Where that is not possible the next who asks gets another.
func (p tokenPlace) keep(token keptToken) {
	text, err := json.Marshal(token)
	if p == "" || err != nil || os.MkdirAll(filepath.Dir(string(p)), 0o700) != nil {
		return
	}
	next, err := os.CreateTemp(filepath.Dir(string(p)), "next-*") // readable by its owner alone
	if err != nil {
		return
	}
	_, err = next.Write(text)
	if next.Close() != nil || err != nil || os.Rename(next.Name(), string(p)) != nil {
		_ = os.Remove(next.Name())
	}
}
