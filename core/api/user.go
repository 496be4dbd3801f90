package api

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Verbs about people.
const (
	VerbUserAdd    = "user-add"
	VerbUserList   = "user-list"
	VerbUserRevoke = "user-revoke"
)

// UserLife is for how long credentials of people hold unless told otherwise.
const UserLife = 30 * 24 * time.Hour

// User is the record of a person.
type User struct {
	Header
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Key is the public key of the credentials that hold now.
	Key    string      `json:"key"`
	Issued metav1.Time `json:"issued"`
	// Ends is when the credentials end; zero: never.
	Ends    metav1.Time  `json:"ends,omitzero"`
	Revoked *metav1.Time `json:"revoked,omitempty"`
	// By is who made or revoked them last.
	By string `json:"by,omitempty"`
	// Elsewhere says that others make the person's credentials: the hub knows no key of theirs, and goes by the name.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// Refuses says that whoever asks shows credentials of the person that were revoked. Where nobody tells the key, those
// of a role beyond the person's are.
func (u *User) Refuses(by Caller) bool {
	switch {
	case u.Elsewhere:
		return u.Revoked != nil
	case by.Key == "":
		return u.Revoked != nil || !u.Role.Covers(by.Role)
	}
	return u.Revoked != nil || by.Key != u.Key
}

// Standing is "Valid", "Ended" or "Revoked" at a time.
func (u *User) Standing(now time.Time) string {
	switch {
	case u.Revoked != nil:
		return "Revoked"
	case !u.Ends.IsZero() && !now.Before(u.Ends.Time):
		return "Ended"
	}
	return "Valid"
}

// UserAddRequest asks for credentials of a person, new ones with Renew.
type UserAddRequest struct {
	Asked
	Name string `json:"name"`
	// Role may be empty with Renew: as it is.
	Role Role `json:"role,omitempty"`
	// Life is for how long the credentials hold.
	Life  metav1.Duration `json:"life"`
	Renew bool            `json:"renew,omitempty"`
}

// UserAddResponse holds the text of a .creds file, none where others make it.
type UserAddResponse struct {
	User  User   `json:"user"`
	Creds string `json:"creds"`
	URL   string `json:"url,omitempty"`
	// Left is why servers go on to take the former credentials, with the command that is left to be typed.
	Left *Failure `json:"left,omitempty"`
}

// UserListResponse lists people by name.
type UserListResponse struct {
	Users []User `json:"users"`
}

// UserRevokeRequest refuses the credentials of a person from now on.
type UserRevokeRequest struct {
	Asked
	Name string `json:"name"`
}

// UserRevokeResponse is the record of who was revoked.
type UserRevokeResponse struct {
	User User `json:"user"`
	// Unchanged says that they were revoked before.
	Unchanged bool `json:"unchanged,omitempty"`
	// Left is why servers go on to take their credentials, with the command that is left to be typed.
	Left *Failure `json:"left,omitempty"`
}

// MaxUserLife is the longest life of credentials of a person.
const MaxUserLife = 366 * 24 * time.Hour
