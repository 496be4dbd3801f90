package subjects

import "strings"

// Fleet builds the full names of one fleet's assets. Its name is a DNS label.
type Fleet struct {
	Name string
}

// DefaultFleet is the name of a fleet that nobody named.
const DefaultFleet = "default"

// Buckets, by short name.
const (
	State     = "state"     // records of the hub
	Lease     = "lease"     // who leads
	Census    = "census"    // which records there are to be
	Content   = "content"   // bodies and work documents, by digest
	Heartbeat = "heartbeat" // newest heartbeat of each member
	Result    = "result"    // newest result of each member and subject
)

// Streams, by short name.
const (
	Events   = "EVENTS"   // node events of members
	Commands = "COMMANDS" // wanted state of each member
	Audit    = "AUDIT"    // what happened, for people
	Acts     = "ACTS"     // what people did
)

// Prefix opens every subject of the fleet, "flotilla.<fleet>".
func (f Fleet) Prefix() string { return "flotilla." + f.Name }

// Bucket is the full name of a bucket, "flotilla_<fleet>_state".
func (f Fleet) Bucket(short string) string { return "flotilla_" + f.Name + "_" + short }

// BucketStream is the name of the stream under a bucket, "KV_flotilla_<fleet>_state".
func (f Fleet) BucketStream(short string) string { return "KV_" + f.Bucket(short) }

// BucketSubject is the subject of one key of a bucket, "$KV.flotilla_<fleet>_state.<key>"; key may
// hold wildcards.
func (f Fleet) BucketSubject(short, key string) string { return f.bucketPrefix(short) + key }

func (f Fleet) bucketPrefix(short string) string { return "$KV." + f.Bucket(short) + "." }

// BucketKey is the inverse of BucketSubject; false when the subject is not of that bucket.
func (f Fleet) BucketKey(short, subject string) (string, bool) {
	return cutPrefix(subject, f.bucketPrefix(short))
}

// Stream is the full name of a stream that is not a bucket, "FLOTILLA_<fleet>_COMMANDS".
func (f Fleet) Stream(short string) string { return "FLOTILLA_" + f.Name + "_" + short }

// DirectGet is the request subject that reads the newest message of one exact subject of a stream,
// given by its full name.
func DirectGet(stream, subject string) string { return "$JS.API.DIRECT.GET." + stream + "." + subject }

// Reading is where hubs are asked for what DirectGet reads, by an account that may not ask a server.
func (f Fleet) Reading(stream, subject string) string { return f.readings() + stream + "." + subject }

// AllReadings is every Reading.
func (f Fleet) AllReadings() string { return f.readings() + ">" }

func (f Fleet) readings() string { return f.Prefix() + ".read." }

// Readings is the inverse of Reading, for one fleet.
type Readings struct {
	prefix string
	own    []string // what the subjects of members begin with, up to the name
}

// Readings makes it.
func (f Fleet) Readings() Readings {
	return Readings{f.readings(), []string{f.Prefix() + ".command.", f.Prefix() + ".event.", f.bucketPrefix(Result)}}
}

// Parse says which stream and subject a Reading is of, and names the member whose own the subject is, if it is a member's.
func (r *Readings) Parse(reading string) (stream, subject, member string, ok bool) {
	rest, ok := strings.CutPrefix(reading, r.prefix)
	if ok {
		stream, subject, ok = strings.Cut(rest, ".")
	}
	if !ok {
		return "", "", "", false
	}
	for _, own := range r.own {
		if name, found := strings.CutPrefix(subject, own); found {
			member, _, _ = strings.Cut(name, ".")
		}
	}
	return stream, subject, member, true
}

// LastMessage is the API request for the newest message of a subject, which the stream's leader answers; domain
// is that of JetStream, empty for the server's own.
func LastMessage(domain, stream string) string { return apiPrefix(domain) + "STREAM.MSG.GET." + stream }

// StreamInfo is the API request for the state of a stream, as LastMessage.
func StreamInfo(domain, stream string) string { return apiPrefix(domain) + "STREAM.INFO." + stream }

// StreamStepDown is the API request that has another replica of a stream lead it.
func StreamStepDown(domain, stream string) string {
	return apiPrefix(domain) + "STREAM.LEADER.STEPDOWN." + stream
}

func apiPrefix(domain string) string {
	if domain != "" {
		return "$JS." + domain + ".API."
	}
	return "$JS.API."
}

// Inbox is the prefix of a user's reply subjects, "_INBOX_<user>".
func Inbox(user string) string { return "_INBOX_" + user }
