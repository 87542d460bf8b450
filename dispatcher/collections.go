package dispatcher

// collections numbers the names of collections, so that an entry holds 2 bytes
// instead of 16. There are as many as the application registers.
type collections struct {
	names   []string
	numbers map[string]uint16
	last    uint16 // asked for
}

func (c *collections) name(number uint16) string { return c.names[number] }

// number looks at the last one first: many signals in a row are for documents of
// one collection, and the map is a tenth of the time of signal, take and done.
func (c *collections) number(name string) uint16 {
	if int(c.last) < len(c.names) && c.names[c.last] == name {
		return c.last
	}
	if number, ok := c.numbers[name]; ok {
		c.last = number
		return number
	}
	if c.numbers == nil {
		c.numbers = make(map[string]uint16)
	}
	number := uint16(len(c.names)) // #nosec G115 -- no application has 65,536
	c.names = append(c.names, name)
	c.numbers[name] = number
	c.last = number
	return number
}
