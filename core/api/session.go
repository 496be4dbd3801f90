package api

import (
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VerbWeb makes a link with which its owner enters the page of the hub.
const VerbWeb = "web"

// VerbToken makes a token with which its owner asks the Kubernetes API of the hub.
const VerbToken = "token"

// Verbs that hubs ask each other for those whom they let in; no person's credentials reach them.
const (
	VerbEnter   = "web-enter"
	VerbSession = "web-session"
	VerbLeave   = "web-leave"
)

// CodeNoEntry is of a link, a session or a token that lets nobody in: it was used, ended, or never was.
const CodeNoEntry = "401"

// ErrNoEntry says the same to those who let people in.
var ErrNoEntry = errors.New("no entry")

// Person is who was let in, until when.
type Person struct {
	Name string
	Role Role
	Ends time.Time
	// Key is that of their credentials as they were let in, empty where the hub does not know it.
	Key string
}

// For how long links, sessions and tokens for the Kubernetes API hold.
const (
	LinkLife     = time.Minute
	SessionLife  = 8 * time.Hour
	APITokenLife = time.Hour
)

// What the secret of a Session is for.
const (
	SecretOfLink    = "link"    // to begin a session, once
	SecretOfSession = "session" // to look at the page
	SecretOfToken   = "token"   // to ask the Kubernetes API
)

// Session is the record of a link to the page, of a session of it, or of a token, under the SHA-256 of its secret, which is stored nowhere.
type Session struct {
	Header
	// Secret is what the secret is for, one of the SecretOf constants.
	Secret string `json:"secret"`
	Person string `json:"person"`
	Role   Role   `json:"role"`
	// Key is the public key of the credentials that asked for it, empty where servers do not tell.
	Key    string      `json:"key,omitempty"`
	Issued metav1.Time `json:"issued"`
	Ends   metav1.Time `json:"ends"`
}

// Caller is whom the session makes of who shows its secret.
func (s *Session) Caller() Caller { return Caller{Name: s.Person, Role: s.Role, Key: s.Key} }

// WebRequest has no fields.
type WebRequest struct{ Asked }

// WebResponse is what a link to the page is made of.
type WebResponse struct {
	// URL is where the page is, "https://fleet.example.com", without a slash at its end.
	URL    string      `json:"url"`
	Secret string      `json:"secret"`
	Ends   metav1.Time `json:"ends"`
}

// Link is the address to open.
func (r *WebResponse) Link() string { return r.URL + "/enter?link=" + r.Secret }

// TokenRequest has no fields.
type TokenRequest struct{ Asked }

// TokenResponse is what somebody needs who asks the Kubernetes API of the hub.
type TokenResponse struct {
	// Server is where it is, "https://fleet.example.com:6443", without a slash at its end.
	Server string `json:"server"`
	// CA is the authority of its certificate in PEM, empty where machines know it.
	CA    []byte      `json:"ca,omitempty"`
	Token string      `json:"token"`
	Ends  metav1.Time `json:"ends"`
}

// EnterRequest begins a session with the secret of a link, for somebody at an address.
type EnterRequest struct {
	Asked
	Link    string `json:"link"`
	Address string `json:"address,omitempty"`
}

// EnterResponse is the secret of a session.
type EnterResponse struct {
	Session string `json:"session"`
}

// SessionRequest names a session by its secret, to look whose it is or to end it. Of says what else the secret is to be for,
// to look whose a token is: SecretOfToken.
type SessionRequest struct {
	Session string `json:"session"`
	Of      string `json:"of,omitempty"`
}

// SessionResponse says whose a session or a token is.
type SessionResponse struct {
	Name string      `json:"name"`
	Role Role        `json:"role"`
	Ends metav1.Time `json:"ends"`
	// Key is that of the credentials which it was given for, empty where the hub does not know it.
	Key string `json:"key,omitempty"`
}
