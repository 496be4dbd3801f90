package bus

import (
	"crypto/x509"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// Options says how to reach NATS. The zero value reads NATS_URL, NATS_CREDS and NATS_CONTEXT and falls
// back to nats://127.0.0.1:4222.
type Options struct {
	// Fleet is the name of the fleet, "default" when empty.
	Fleet string
	// URL of the server or servers, comma separated. It wins over NATS_URL, which wins over a context.
	URL string
	// Creds is the path of a .creds file. It wins over NATS_CREDS, which wins over a context.
	Creds string
	// CA is the path of the authority that the servers' certificates are of, in PEM. It wins over NATS_CA, which
	// wins over a context; without any it is those that the machine trusts.
	CA string
	// CredsText is the text of a .creds file; it wins over Creds.
	CredsText []byte
	// Wallet is how an agent proves who it is, unless CredsText, Creds or Context do; NATS_CREDS and NATS_CONTEXT
	// are not for an agent that has one.
	Wallet Wallet
	// Context names a NATS context, ~/.config/nats/context/<name>.json; it wins over NATS_CONTEXT.
	Context string
	// Server, when set, is connected to in process; URL, Creds and Context are then ignored.
	Server Embedded
	// Name is the replica of a hub ("hub-0"), or the user of a client; agents use their member name.
	Name string
	// Version of this build, for the connection name.
	Version string
	// Timeout bounds the first connection of a client, 5 s when 0. Hubs and agents retry for ever.
	Timeout time.Duration
	// Reconnect says when an agent tries again.
	Reconnect Reconnect
	Log       zerolog.Logger
	// Now is the clock of the process, the machine's when nil. It may be ahead of real time or behind it,
	// and must go as fast.
	Now func() time.Time
	// Getenv replaces os.Getenv in tests.
	Getenv func(string) string
}

// Reconnect is after how long one tries again that lost its connection: Wait and up to Jitter more. Zero: within two seconds
// after it was lost and while nothing listens, and after 2 to 17 s where a server did not let it in or does not answer, so that
// a fleet does not overrun it.
type Reconnect struct{ Wait, Jitter time.Duration }

// Wallet is how an agent proves who it is, see package member.
type Wallet interface {
	// Brings says that it holds credentials, which is not so where somebody else makes them; a nil one holds none.
	Brings() bool
	// Where is what the token said: for which member it is, and where to connect to.
	Where() (member, url string, authority *x509.CertPool)
	// Auth has a connection show what the wallet holds at the time.
	Auth() nats.Option
	// Admitted takes in whether the servers took what was shown last.
	Admitted(taken bool)
}

// Embedded is a NATS server in this process.
type Embedded interface {
	nats.InProcessConnProvider
	// HubCreds and OperatorCreds are the paths of the creds files of the hub and of the first person.
	HubCreds() string
	OperatorCreds() string
}
