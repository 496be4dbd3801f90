package gate_test

import (
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"flotilla/bus/gate"
)

// A server says how much it takes of a connection of HTTP/2, and refuses a longer frame before it has read it: strangers hold no memory by
// such frames.
func TestLongFramesAreRefused(t *testing.T) {
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	var refused []net.Conn
	for name, server := range map[string]*http.Server{"of sites": gate.Serving(handler), "of metrics": gate.Server(handler)} {
		for _, c := range []struct {
			length  int
			refused bool
		}{{16 << 10, false}, {16<<10 + 1, true}, {1 << 20, true}} {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			server.Protocols = &http.Protocols{}
			server.Protocols.SetUnencryptedHTTP2(true)
			go func() { _ = server.Serve(listener) }()
			t.Cleanup(func() { _ = server.Close() })
			conn, err := net.Dial("tcp", listener.Addr().String())
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close() })
			_, err = io.WriteString(conn, http2.ClientPreface)
			require.NoError(t, err)
			frames := http2.NewFramer(conn, conn)
			require.NoError(t, frames.WriteSettings())
			head := []byte{byte(c.length >> 16), byte(c.length >> 8), byte(c.length), 0xfe, 0, 0, 0, 0, 0} // of a type that nobody knows, which is passed over
			_, err = conn.Write(head)
			require.NoError(t, err)
			if !c.refused {
				_, err = conn.Write(make([]byte, c.length))
				require.NoError(t, err)
			}
			require.NoError(t, frames.WritePing(false, [8]byte{}))
			settings, end := toldBy(t, frames)
			require.Equal(t, map[http2.SettingID]uint32{http2.SettingMaxFrameSize: 16 << 10, http2.SettingInitialWindowSize: 128 << 10}, settings, name)
			require.Equal(t, c.refused, end == http2.ErrCodeFrameSize, "%s: %d bytes: %s", name, c.length, end)
			if c.refused {
				refused = append(refused, conn)
			}
		}
	}
	for _, conn := range refused { // a server ends the connection a second later
		_, _ = io.Copy(io.Discard, conn)
	}
}

// toldBy is what a server says of frames and windows, and why it ends a connection, ErrCodeNo where it answers a ping.
func toldBy(t *testing.T, frames *http2.Framer) (settings map[http2.SettingID]uint32, end http2.ErrCode) {
	t.Helper()
	settings = map[http2.SettingID]uint32{}
	for {
		frame, err := frames.ReadFrame()
		require.NoError(t, err)
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			for _, id := range []http2.SettingID{http2.SettingMaxFrameSize, http2.SettingInitialWindowSize} {
				if value, said := f.Value(id); said {
					settings[id] = value
				}
			}
		case *http2.PingFrame:
			if f.IsAck() {
				return settings, http2.ErrCodeNo
			}
		case *http2.GoAwayFrame:
			return settings, f.ErrCode
		}
	}
}
