package api

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRequestIDsAreOfOneAlphabet(t *testing.T) {
	for _, id := range []string{"a", "Z-9", "-", strings.Repeat("a", MaxRequestID)} {
		require.NoError(t, CheckRequestID(id), id)
	}
	for id, why := range map[string]string{
		"":                       `request id "": expected 1 to 64 letters, digits and hyphens`,
		"a.b":                    `request id "a.b": expected 1 to 64 letters, digits and hyphens`,
		"a\n":                    `request id "a\n": expected 1 to 64 letters, digits and hyphens`,
		"ä":                      `request id "ä": expected 1 to 64 letters, digits and hyphens`,
		strings.Repeat("a", 65):  "request id of 65 characters: expected 1 to 64",
		strings.Repeat("ä", 900): "request id of 1800 characters: expected 1 to 64",
	} {
		require.EqualError(t, CheckRequestID(id), why)
	}
}

func TestARequestBelongsToItsCallerAndVerb(t *testing.T) {
	eve := Caller{Name: "eve", Verb: VerbApply, Request: "of-the-header"}
	for body, want := range map[string]string{
		`{"request":"mine"}`: "mine.apply.eve",
		`{}`:                 "of-the-header.apply.eve",
		``:                   "of-the-header.apply.eve",
	} {
		var request ApplyRequest
		require.NoError(t, ReadRequest(eve, []byte(body), &request), body)
		require.Equal(t, want, request.Request, body)
		require.Equal(t, eve, request.By)
	}
	own := map[string]bool{}
	for _, by := range []Caller{eve, {Name: "anna", Verb: VerbApply}, {Name: "eve", Verb: VerbPatch}, {Name: "patch.eve", Verb: VerbApply}} {
		own[by.Own("mine")] = true
	}
	require.Len(t, own, 4)
	require.NotEqual(t, Caller{Verb: "b", Name: "c"}.Own("a"), Caller{Verb: "c", Name: "b"}.Own("a"))

	var request ApplyRequest
	require.NoError(t, ReadRequest(Caller{Name: "door"}, nil, &request))
	require.Empty(t, request.Request, "the hub's own")
	for _, body := range []string{`7`, `{"request":"not one"}`, `{"request":1}`, `[]`} {
		err := ReadRequest(eve, []byte(body), &request)
		require.ErrorContains(t, err, "reading the request: ", body)
		failure, is := errors.AsType[*Failure](err)
		require.True(t, is, body)
		require.Equal(t, CodeInvalid, failure.Code)
	}
}
