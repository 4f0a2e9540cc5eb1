"""The words that names of secrets are made of, and those that make a name honest: tables, and nothing else.

Words of a phrase are joined by `/`, phrases parted by blanks.
"""

CERTAIN = """
password passwords passwd passwds passphrase passphrases passcode passkey pwd pswd passw
pass/phrase pass/word pass/code
secret secrets token credential credentials creds cred authorization jwt psk bearer mnemonic
apikey apikeys cookie cookies passwort motdepasse kennwort contrasena senha wachtwoord mot/de/passe
api/key api/keys access/key access/keys private/key private/keys secret/key secret/keys encryption/key
encryption/keys decryption/key signing/key signing/keys master/key account/key shared/key auth/key
session/key service/key license/key deploy/key ssh/key ssl/key tls/key storage/key subscription/key
functions/key app/key application/key client/key consumer/key wpa/key wep/key wifi/key hmac/key aes/key
integration/key radius/key tacacs/key role/key shared/access/key pre/shared/key
otp/seed totp/seed mfa/seed fa/seed otp/secret totp/secret key/material
connection/string connection/strings conn/string conn/str connstr
session/id session/ids sess/id shared/access/signature amz/signature goog/signature
access/tokens api/tokens auth/tokens refresh/tokens bearer/tokens
seed/phrase seed/words recovery/phrase recovery/code recovery/codes recovery/key backup/code backup/codes
scratch/code scratch/codes unlock/code pairing/code reset/code login/code sms/code string/data
github/pat gitlab/pat gh/pat azure/pat devops/pat
access/code security/code security/answer verification/code verifier/code code/verifier auth/code
authorization/code
snmp/community community/string request/state client/assertion saml/response
"""
OWNERS = """
db database user smtp imap mail email root admin ftp sftp ssh redis pg postgres mysql mongo http proxy login
account wifi ldap bind app api svc service my ssh sudo become vault keystore truststore store key
"""
"""Words before `pass` that make it a password."""
PASSWORDS = """
requirepass masterauth
contraseña lösenord losenord adgangskode salasana passord hasło jelszó jelszo şifre lozinka slaptažodis
slaptazodis пароль סיסמה סיסמא κωδικός/πρόσβασης 密码 密碼 口令 パスワード 暗証番号 비밀번호 패스워드 암호
palavra/passe parola/d/ordine kata/sandi mật/khẩu mat/khau كلمة/المرور كلمة/السر รหัสผ่าน
"""
"""Passwords in words that make no label."""
AMBIGUOUS = """
passe mdp clave parola parol haslo heslo sifre sandi geslo geheimnis κωδικός 秘密 秘密鍵 المرور السر khẩu khau
"""
"""Words for passwords that mean other things too: the value must look chosen."""
STEMS = """
kennwort contrase senha wachtwoord passe mdp clave parol lösenord losenord adgangskode salasana passord haslo
hasło heslo jelszó jelszo sifre şifre Şifre geslo geheimnis lozinka slapta κωδικ סיסמ пароль Пароль ПАРОЛЬ
密码 密碼 口令 秘密 パスワード 暗証番号 비밀번호 패스워드 암호 sandi khau khẩu المرور السر รหัสผ่าน
"""
"""How these words begin in text."""
DIGITS = """
pin pins pin/code otp totp mfa mfa/code fa/code cvv cvc csc ssn card/number one/time/code one/time/pin
two/factor/code social/security/number
"""
CHOSEN = "pass pw basic/auth http/auth proxy/auth userpwd setup/key auth/ident"
RANDOM = """
key keys sig signature tokens secret/id assertion pat
"""
ISSUED = "auth session sid hapikey appid authentication ticket dpop"
SQUASHED = """
password passwords passwd passphrase passcode secret secrets apikey apikeys accesskey secretkey privatekey
authkey accountkey masterkey encryptionkey signingkey sharedkey subscriptionkey credential credentials token
tokens connectionstring sessionid sessid cookie cookies pwd
"""
"""Ends of names that are written without any sign of their words, as `dbpassword`."""

ABOUT = """
count counts counter counted limit limits length len size usage used budget max min maximum minimum
policy policies type types kind name names url urls uri uris endpoint endpoints path paths file files
filename dir directory folder field fields column columns label placeholder hint help prompt
description title text expiry expire expires expired expiration exp ttl age lifetime timeout interval
created updated issued changed at in arn date rotation rotate rotated enabled disabled required optional
valid invalid supported allowed status version format encoding algorithm algorithms alg scheme mode
manager provider providers store source ref reference id ids index position per rate cost price prices
estimate estimator window stream classification classifier strength score rule rules pattern patterns
regex template variable var env header headers domain domains consent banner jar reset
link links address addresses symbol symbols color colors colour
validation validator generator parser scanner config settings options input stdin page screen form
button icon test tests class handler error errors missing
json yaml yml txt py js ts tsx jsx go rs java rb php cs kt md csv log ini cfg conf toml xml html css
sh sql lock pem crt cer pub example sample
"""
"""Words after a secret's name, at once or last, that make it a name about one; file endings among them."""
UNITS = """
max min maximum minimum num n total input output prompt completion generated cached cache remaining
used usage context special stop bos eos pad unk unknown mask reasoning thinking budget per count limit
page next prev previous continuation sync resume cursor start end estimated image audio progress
"""
"""Words before `token` that make it a unit of language models, a place in a listing, or MCP's handle."""
KEY_KINDS = """
public primary foreign sort partition cache object idempotency map group dedup routing lookup translation
issue project row unique composite surrogate host hot short
"""
"""Words before `key` that make it no secret."""
DESCRIPTIVE = """
type format title description minLength maxLength pattern required name domain path expires secure httpOnly
sameSite Expiration expiration expiry expiresIn expires_in expires_at expiresAt
"""
"""Members of an object under a secret's name that only describe it."""
