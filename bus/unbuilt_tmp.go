package bus

import "errors"

var errUnbuilt = errors.New("not built")
