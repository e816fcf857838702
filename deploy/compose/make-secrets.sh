#!/bin/sh
# Makes what the composition must keep secret, once, in deploy/compose/secrets: passwords, the key of webhooks, a certificate
# authority with the certificates of PostgreSQL, PgBouncer and the proxy, and the realm of the identity provider with its
# passwords.
#
# Usage: deploy/compose/make-secrets.sh [folder]
#
# The folder is closed to other users of this machine. Its files are readable, because a container sees them with the owner
# and mode that they have here, and runs as another user.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/secrets}
days=825

if [ -e "$folder" ]; then
  echo "$folder exists. Remove it to make new secrets. The database keeps the old passwords: change them there too." >&2
  exit 1
fi
umask 077
mkdir -p "$folder"
cd "$folder"

password() {
  openssl rand -hex 24 >"$1"
}

# A certificate of our authority for a host name, and for programs on the same host.
certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1-key" -out "$1-request" -subj "/CN=$2" 2>openssl-log
  printf 'subjectAltName=DNS:%s,DNS:localhost\nextendedKeyUsage=serverAuth\n' "$2" >extensions
  openssl x509 -req -in "$1-request" -CA ca-certificate -CAkey ca-key -CAcreateserial -CAserial serial -days "$days" \
    -extfile extensions -out "$1-certificate" 2>openssl-log
}

for login in postgres migrator operator banking worker demo-user demo-client keycloak-admin; do
  password "$login-password"
done
# Encrypts the secrets of webhook endpoints in the database.
openssl rand -base64 32 >webhook-key

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca-key -out ca-certificate -days "$days" \
  -subj '/CN=Authority of this composition' -addext 'keyUsage=critical,keyCertSign,cRLSign' 2>openssl-log
certificate postgres postgres
certificate pgbouncer pgbouncer
certificate proxy banking.test

for login in banking worker; do
  printf '"%s" "%s"\n' "$login" "$(cat $login-password)"
done >pgbouncer-users
sed -e "s/@DEMO_USER_PASSWORD@/$(cat demo-user-password)/" -e "s/@DEMO_CLIENT_PASSWORD@/$(cat demo-client-password)/" \
  "$here/realm.json" >realm.json

# The key of the authority is not needed again: new secrets come with a new authority.
rm -f ca-key serial extensions openssl-log ./*-request
chmod 444 ./*
echo "Made the secrets in $folder."
