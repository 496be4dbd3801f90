// Package said reads what a server says of who sends a message through an import that shares it, and believes nothing else.
package said

import (
	"encoding/json"
	"math"
	"net"
	"reflect"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Header is the header that a server says it in.
const Header = "Nats-Request-Info"

// mostValues is how many values a header has at most whose length says that nothing in it is hidden.
const mostValues = 16

// By is what a server says of who sent a message, empty where it says nothing; size is what nats.Msg.Size says of the message. Clients of
// NATS also end a line without a carriage return, and a header with an empty line, where servers go on reading: a sender could put a line of
// their own before the server's, or end the header before it. So nothing is believed, and ok is false, unless the header is no longer than
// what is seen of it: such lines save a byte or two each, and the server's is longer than all of them together could make room for.
func By(m *nats.Msg, size int) (info string, ok bool) {
	seen, values := len("NATS/1.0\r\n\r\n"), 0
	for key, all := range m.Header {
		for _, value := range all {
			seen, values = seen+len(key)+len(": \r\n")+len(value), values+1
			if key != Header && strings.Contains(key, Header) || strings.Contains(value, Header) {
				return "", false // one line out of two
			}
		}
	}
	of := m.Header[Header]
	if _, inline := m.Header["Status"]; inline { // the server's line stands on the first
		return "", false
	}
	if size-len(m.Subject)-len(m.Reply)-len(m.Data) > seen || values > mostValues || len(of) > 1 {
		return "", false
	}
	return m.Header.Get(Header), true
}

// ByRequest is By of a request.
func ByRequest(r micro.Request) (info string, ok bool) {
	return By(&nats.Msg{Subject: r.Subject(), Reply: r.Reply(), Header: nats.Header(r.Headers()), Data: r.Data()}, sizeOf(r))
}

// sizeOf is the size of the message of a request, which the micro package keeps to itself. Where it would keep it elsewhere no size is small
// enough, and every request is refused.
func sizeOf(r micro.Request) int {
	size := reflect.ValueOf(r)
	for _, field := range []string{"msg", "wsz"} {
		if size = reflect.Indirect(size); size.Kind() != reflect.Struct {
			return math.MaxInt
		}
		size = size.FieldByName(field)
	}
	if !size.CanInt() {
		return math.MaxInt
	}
	return int(size.Int())
}

// Who is the user's key and the address in what the server says; empty where it says nothing.
func Who(info string) (key, address string) {
	var sender struct {
		User string `json:"user"`
		Host string `json:"host"`
	}
	if json.Unmarshal([]byte(info), &sender) != nil {
		return "", ""
	}
	if net.ParseIP(sender.Host) == nil {
		sender.Host = "" // a connection within the hub's process
	}
	return sender.User, sender.Host
}
