// Packages of the Debian catalogue by section. A document is a stanza of a control file, as text.
function (doc) {
  const section = /^Section: (.*)$/m.exec(doc);
  if (section) emit(section[1], null);
}
