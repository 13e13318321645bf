package egress

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// ErrRefused says that an address is not one that a stranger's URL may lead to. Its text names no address: what an internal name resolves
// to is nobody's business.
var ErrRefused = errors.New("the address is not a public web address (only public hosts on ports 80 and 443 can be reached)")

// refused4 are the IPv4 blocks that are not the public internet: the IANA special-purpose registry's blocks that are not globally
// reachable, multicast, the reserved space with broadcast, the retired 6to4 relays, and the address at which Azure serves metadata.
var refused4 = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"168.63.129.16/32",
)

// public6 is all of IPv6 that has been given to the public internet. All else is refused unseen: loopback, link-local, unique local,
// multicast, IPv4-compatible and NAT64 forms among it.
var public6 = netip.MustParsePrefix("2000::/3")

// refused6 are the blocks inside public6 that carry other addresses (Teredo, 6to4) or nobody's (protocol assignments, documentation).
var refused6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		out[i] = netip.MustParsePrefix(t)
	}
	return out
}

// public reports whether addr belongs to the public internet.
func public(addr netip.Addr) bool {
	if addr.Zone() != "" {
		return false
	}
	addr = addr.Unmap()
	in := func(p netip.Prefix) bool { return p.Contains(addr) }
	if addr.Is4() {
		return !slices.ContainsFunc(refused4, in)
	}
	return public6.Contains(addr) && !slices.ContainsFunc(refused6, in)
}

// control is a net.Dialer's last word before a connection: it sees the address that is really dialled, so that neither a name that
// resolves differently each time nor a redirect gets round it.
func (c Config) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("network %q: %w", network, ErrRefused)
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("dialled address is none: %w", ErrRefused)
	}
	to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	if slices.Contains(c.Allow, to) {
		return nil
	}
	if port := to.Port(); (port != 80 && port != 443) || !public(to.Addr()) {
		return ErrRefused
	}
	return nil
}
