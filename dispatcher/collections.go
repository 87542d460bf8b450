package dispatcher

// collections numbers the names of collections, so that an entry holds 2 bytes
// instead of 16. There are as many as the application registers.
type collections struct {
	names   []string
	numbers map[string]uint16
}

func (c *collections) name(number uint16) string { return c.names[number] }

func (c *collections) number(name string) uint16 {
	if number, ok := c.numbers[name]; ok {
		return number
	}
	if c.numbers == nil {
		c.numbers = make(map[string]uint16)
	}
	number := uint16(len(c.names)) // #nosec G115 -- no application has 65,536
	c.names = append(c.names, name)
	c.numbers[name] = number
	return number
}
