// Installed size of packages, in KiB, by maintainer and section: with _sum, group at level 1 or 2.
function (doc) {
  const field = (name) => (new RegExp("^" + name + ": (.*)$", "m").exec(doc) || [])[1];
  const size = field("Installed-Size");
  if (size) emit([field("Maintainer"), field("Section")], Number(size));
}
