package lab

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// port is a port of the loopback address that is kept for one server, also while that one is down. The socket that
// keeps it never listens; a server of the same user that shares ports (SO_REUSEPORT) can.
type port struct {
	socket int
	number int
}

func reserve() (*port, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	unix.CloseOnExec(socket)
	p := &port{socket: socket}
	if err := p.bind(); err != nil {
		return nil, errors.Join(fmt.Errorf("reserving a port: %w", err), unix.Close(socket))
	}
	return p, nil
}

func (p *port) bind() error {
	if err := unix.SetsockoptInt(p.socket, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if err := unix.Bind(p.socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return os.NewSyscallError("bind", err)
	}
	bound, err := unix.Getsockname(p.socket)
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	address, ok := bound.(*unix.SockaddrInet4)
	if !ok {
		return fmt.Errorf("found an address of type %T, expected one of IPv4", bound)
	}
	p.number = address.Port
	return nil
}

func (p *port) String() string { return strconv.Itoa(p.number) }

// release gives the port back; a second time does nothing.
func (p *port) release() {
	if p.socket >= 0 {
		_ = unix.Close(p.socket)
		p.socket = -1
	}
}
