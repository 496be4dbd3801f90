package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// MaxRequestID is how many characters the id of a request may have.
const MaxRequestID = 64

// CheckRequestID says why a text is not the id of a request; nil when it is one: 1 to 64 letters, digits and hyphens.
func CheckRequestID(id string) error {
	if len(id) > MaxRequestID {
		return fmt.Errorf("request id of %d characters: expected 1 to %d", len(id), MaxRequestID)
	}
	other := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-'
	}
	if id == "" || strings.ContainsFunc(id, other) {
		return fmt.Errorf("request id %q: expected 1 to %d letters, digits and hyphens", id, MaxRequestID)
	}
	return nil
}

// Own is the id of a request as the hub remembers it: "<id>.<verb>.<name of the caller>". What was answered to one person and verb is
// never found under the id of another person's request, or of another verb's.
func (c Caller) Own(id string) string { return id + "." + c.Verb + "." + c.Name }

// ReadRequest reads the JSON body of a request, nothing when it is empty, and notes in the request who sent it. The id in the body, or that
// of the header where the body has none, becomes the caller's own. A body or an id that is refused is a *Failure with CodeInvalid.
func ReadRequest(by Caller, body []byte, request any) error {
	if len(body) > 0 {
		if err := json.Unmarshal(body, request); err != nil {
			return unreadable(err)
		}
	}
	if asked, ok := request.(interface{ From(Caller) }); ok {
		asked.From(by)
	}
	once, ok := request.(interface{ id() *string })
	if !ok || *once.id() == "" && by.Request == "" {
		return nil
	}
	id := cmp.Or(*once.id(), by.Request)
	if err := CheckRequestID(id); err != nil {
		return unreadable(err)
	}
	*once.id() = by.Own(id)
	return nil
}

func unreadable(err error) *Failure {
	return &Failure{Code: CodeInvalid, Message: "reading the request: " + err.Error()}
}

// Requests that change something have the id under which a repeat is recognised.

func (r *ApplyRequest) id() *string             { return &r.Request }
func (r *PatchRequest) id() *string             { return &r.Request }
func (r *DeleteRequest) id() *string            { return &r.Request }
func (r *AdmitRequest) id() *string             { return &r.Request }
func (r *RolloutRequest) id() *string           { return &r.Request }
func (r *FreezeRequest) id() *string            { return &r.Request }
func (r *ApproveWithdrawalRequest) id() *string { return &r.Request }
func (r *RunRequest) id() *string               { return &r.Request }
func (r *DeleteNodeRequest) id() *string        { return &r.Request }
