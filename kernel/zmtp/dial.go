package zmtp

import (
	"context"
	"fmt"
	"net"
)

// DialDealer connects to a ROUTER that knows this side by the identity.
func DialDealer(ctx context.Context, network, address, identity string) (*Conn, error) {
	return dial(ctx, network, address, typeDealer, identity)
}

// DialReq connects to a REP socket. A message of Write must begin with an empty
// frame, and one of Read does.
func DialReq(ctx context.Context, network, address string) (*Conn, error) {
	return dial(ctx, network, address, typeReq, "")
}

// DialSub connects to a PUB socket and subscribes to everything.
func DialSub(ctx context.Context, network, address string) (*Conn, error) {
	c, err := dial(ctx, network, address, typeSub, "")
	if err != nil {
		return nil, err
	}
	if err := c.Write([][]byte{{1}}); err != nil {
		c.Close()
		return nil, fmt.Errorf("subscribing at %s: %w", address, err)
	}
	return c, nil
}

func dial(ctx context.Context, network, address, typ, identity string) (*Conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	c, err := open(nc, typ, identity)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("connecting to %s: %w", address, err)
	}
	return c, nil
}
