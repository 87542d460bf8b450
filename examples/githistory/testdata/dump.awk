# What -dump writes, computed from the log without any of the program:
#
#   LC_ALL=C awk -f dump.awk LOG
#
# Lines are sorted by path, in order of bytes. Paths that are not UTF-8 or too
# long for a document id are not handled.

function json(s,    out, c, i) {
	if (s !~ /[\\"\t\n\r]/) return "\"" s "\""
	for (i = 1; i <= length(s); i++) {
		c = substr(s, i, 1)
		if (c == "\t") c = "\\t"
		else if (c == "\n") c = "\\n"
		else if (c == "\r") c = "\\r"
		else if (c == "\\" || c == "\"") c = "\\" c
		out = out c
	}
	return "\"" out "\""
}

function unquote(s,    out, c, i, n) {
	n = length(s) - 1
	for (i = 2; i <= n; i++) {
		c = substr(s, i, 1)
		if (c != "\\") { out = out c; continue }
		c = substr(s, ++i, 1)
		if (c ~ /[0-3]/) {
			out = out sprintf("%c", substr(s, i, 1) * 64 + substr(s, i + 1, 1) * 8 + substr(s, i + 2, 1))
			i += 2
		} else if (c == "t") out = out "\t"
		else if (c == "n") out = out "\n"
		else if (c == "r") out = out "\r"
		else out = out c
	}
	return out
}

BEGIN { FS = "\t" }

/^commit / {
	split($0, header, " ")
	time = header[3] + 0
	author = $0
	sub(/^commit [^ ]* [^ ]* /, "", author)
	next
}

NF >= 3 {
	path = $0
	sub(/^[^\t]*\t[^\t]*\t/, "", path)
	if (path ~ /^"/) path = unquote(path)
	size = $1 + $2 # "-" is 0
	if (!(path in changes)) { first[path] = last[path] = time; largest[path] = 0; authors[path] = 0 }
	changes[path]++
	added[path] += $1
	deleted[path] += $2
	if (time < first[path]) first[path] = time
	if (time > last[path]) last[path] = time
	if (size > largest[path]) largest[path] = size
	if (!((path, author) in seen)) { seen[path, author] = 1; authors[path]++ }
}

# Shell sort: awk has none of its own, and sort(1) knows no line breaks in paths.
END {
	for (path in changes) order[++n] = path
	for (gap = int(n / 2); gap > 0; gap = int(gap / 2))
		for (i = gap + 1; i <= n; i++) {
			p = order[i] ""
			for (j = i; j > gap && order[j - gap] "" > p; j -= gap) order[j] = order[j - gap]
			order[j] = p
		}
	for (i = 1; i <= n; i++) {
		p = order[i]
		printf "{\"path\":%s,\"changes\":%.0f,\"added\":%.0f,\"deleted\":%.0f,\"authors\":%.0f,\"first\":%.0f,\"last\":%.0f,\"largest\":%.0f,\"applied\":%.0f}\n", \
			json(p), changes[p], added[p], deleted[p], authors[p], first[p], last[p], largest[p], changes[p]
	}
}
