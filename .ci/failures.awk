# Prints the failures of a TAP report: the names of the tests around each, and what it says of itself but the source text.
# A test that failed because a test inside it did is left out.

function depth(line) { match(line, /^ */); return RLENGTH / 4 }

/^ *# Subtest: / {
  level = depth($0)
  names[level] = substr($0, level * 4 + 12)
  inside[level] = 0
  next
}

/^ *not ok / {
  level = depth($0)
  name = $0
  sub(/^ *not ok [0-9]+ - /, "", name)
  told = inside[level]
  inside[level] = 0
  telling = !told && name !~ /# (TODO|SKIP)/
  if (!telling) next
  for (above = 0; above < level; above++) inside[above] = 1
  path = ""
  for (above = 0; above < level; above++) path = path names[above] " > "
  print "FAIL " path name
  lines = 0
  next
}

/^ *ok / { telling = 0; next }

telling && /^ *\.\.\.$/ { telling = 0; next }

telling {
  text = substr($0, level * 4 + 1)
  if (text ~ /^  [a-z][A-Za-z]*:/) quiet = text ~ /^  (source|at|args|command|jobId):/
  if (text !~ /^ *---$/ && !quiet && ++lines <= 40) print "  " text
}
