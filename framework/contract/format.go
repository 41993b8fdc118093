package contract

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// IsDate reports whether s is a full-date of RFC 3339: 2026-01-31.
func IsDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// IsDateTime reports whether s is a date-time of RFC 3339.
func IsDateTime(s string) bool {
	const date = len(time.DateOnly)
	return len(s) > date && (s[date] == 'T' || s[date] == 't') && IsDate(s[:date]) && IsTime(s[date+1:])
}

// IsTime reports whether s is a full-time of RFC 3339, with the offset from UTC.
func IsTime(s string) bool {
	if len(s) < len("15:04:05Z") || s[2] != ':' || s[5] != ':' {
		return false
	}
	hour, ok1 := number2(s[:2], 23)
	minute, ok2 := number2(s[3:5], 59)
	second, ok3 := number2(s[6:8], 60)
	if !ok1 || !ok2 || !ok3 {
		return false
	}
	rest := s[8:]
	if rest[0] == '.' {
		digits := strings.TrimLeft(rest[1:], "0123456789")
		if len(digits) == len(rest)-1 {
			return false
		}
		rest = digits
	}
	ofDay := hour*60 + minute
	if rest != "Z" && rest != "z" {
		offset, ok := offset(rest)
		if !ok {
			return false
		}
		if ofDay -= offset; ofDay < 0 {
			ofDay += 24 * 60
		}
	}
	return second < 60 || ofDay == 23*60+59 // a leap second comes before midnight in UTC
}

// offset reads +01:30 as minutes.
func offset(s string) (int, bool) {
	if len(s) != len("+01:30") || s[0] != '+' && s[0] != '-' || s[3] != ':' {
		return 0, false
	}
	hour, ok1 := number2(s[1:3], 23)
	minute, ok2 := number2(s[4:], 59)
	if s[0] == '-' {
		hour, minute = -hour, -minute
	}
	return hour*60 + minute, ok1 && ok2
}

// number2 reads a number of two characters. A sign is let through: so do the
// validators of JSON Schema that senders use.
func number2(s string, most int) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && 0 <= n && n <= most
}

// IsUUID reports whether s is a UUID with hyphens, of any version and case.
func IsUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
				return false
			}
		}
	}
	return true
}

// IsEmail reports whether s has the form of an email address.
func IsEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 0 || at > 64 || len(s) > 254 || !isLocalPart(s[:at]) {
		return false
	}
	domain := s[at+1:]
	if strings.HasPrefix(domain, "[") && strings.HasSuffix(domain, "]") {
		address := domain[1 : len(domain)-1]
		if v6, ok := strings.CutPrefix(address, "IPv6:"); ok {
			return isIPv6(v6)
		}
		return isIPv4(address)
	}
	return isHostname(domain)
}

func isLocalPart(s string) bool {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		return !strings.ContainsAny(s[1:len(s)-1], `"\`)
	}
	if strings.HasPrefix(s, ".") || strings.HasSuffix(s, ".") || strings.Contains(s, "..") {
		return false
	}
	for _, c := range s {
		if !isAlphanumeric(c) && !strings.ContainsRune(".!#$%&'*+-/=?^_`{|}~", c) {
			return false
		}
	}
	return true
}

func isAlphanumeric(c rune) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isHostname(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range label {
			if !isAlphanumeric(c) && c != '-' {
				return false
			}
		}
	}
	return true
}

func isIPv4(s string) bool {
	parts := strings.Split(s, ".")
	for _, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 255 || len(part) > 1 && part[0] == '0' {
			return false
		}
	}
	return len(parts) == 4
}

func isIPv6(s string) bool {
	address, err := netip.ParseAddr(s)
	return err == nil && strings.Contains(s, ":") && address.Zone() == ""
}

// IsURI reports whether s is an absolute URI.
func IsURI(s string) bool {
	u, err := url.Parse(s)
	if err != nil || !u.IsAbs() {
		return false
	}
	host := u.Hostname()
	return !strings.Contains(host, ":") || strings.Contains(u.Host, "[") && strings.Contains(u.Host, "]") && isIPv6(host)
}
