package bustest

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"

	"github.com/nats-io/jwt/v2"
)

// Wire connects to a server at an address as a client or a leaf node of no library would, which keeps to nothing: it shows credentials, and says
// more of itself. What the server said after that is in the reader.
func Wire(ctx context.Context, address string, creds []byte, more map[string]any) (conn net.Conn, said *bufio.Reader, err error) {
	if conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", address); err != nil {
		return nil, nil, err
	}
	said = bufio.NewReaderSize(conn, 64<<10)
	var info struct {
		Nonce string `json:"nonce"`
	}
	line, err := said.ReadString('\n')
	token, tokenErr := jwt.ParseDecoratedJWT(creds)
	key, keyErr := jwt.ParseDecoratedUserNKey(creds)
	if err = errors.Join(err, tokenErr, keyErr); err == nil {
		err = json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	signature, _ := key.Sign([]byte(info.Nonce)) // with a seed it always can
	connect := map[string]any{"jwt": token, "sig": base64.RawURLEncoding.EncodeToString(signature), "headers": true, "protocol": 1}
	maps.Copy(connect, more)
	text, _ := json.Marshal(connect) // texts, numbers and booleans
	if _, err = fmt.Fprintf(conn, "CONNECT %s\r\n", text); err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, said, nil
}
