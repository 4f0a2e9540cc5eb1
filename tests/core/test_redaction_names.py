from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.redaction.names import Proof, classify

CERTAIN = """
password passwd pwd dbPassword DB_PASSWORD db-password PGPASSWORD dbpassword password1 passwordConfirmation
secret clientSecret CLIENT-SECRET radiusSharedSecret secret_key_base token accessToken _authToken csrf_token
X-Api-Key APIKey APIKEY apikey api.key secretAccessKey privateKey AccountKey SharedAccessKey psk preSharedKey
Authorization Proxy-Authorization credentials Cookie Set-Cookie PHPSESSID sessionid sessionId Mcp-Session-Id
connectionString wpaPassphrase snmpCommunity requestState code_verifier recovery_codes seedPhrase DB_PASS
NEXT_AUTH_TOKEN password_reset_token X-Amz-Signature
"""
PROOFS = {
    Proof.CHOSEN: "pass pw",
    Proof.DIGITS: "pin PIN_CODE otp cvv cvc2 ssn cardNumber one_time_code",
    Proof.RANDOM: "key keys sig signature tokens secret_id",
    Proof.ISSUED: "auth session sid appid ticket",
}
HONEST = """
max_tokens maxTokens maxNewTokens token_count tokenCount totalTokens num_tokens tokenizer tokenLimit nextPageToken
page_token eos_token token_type tokenUrl password_policy passwordLength password_min_length passwordless secretary
secret_name secretRef author authority authored keyboard keyword monkey turkey primary_key publicKey cache_key
api_key_name access_key_id private_key_id credentials_file cookie_policy session_timeout token.json src/token.py
compass bypass passenger pinned option shipping design insider statement x y
"""


@pytest.mark.parametrize("name", CERTAIN.split())
def test_a_name_that_only_secrets_have(name: str) -> None:
    secret = classify(name)

    assert secret is not None
    assert Proof.NONE is secret.proof


@pytest.mark.parametrize(
    ("name", "proof"), [(name, proof) for proof, names in PROOFS.items() for name in names.split()]
)
def test_a_name_whose_value_must_look_like_a_secret(name: str, proof: Proof) -> None:
    secret = classify(name)

    assert secret is not None
    assert proof is secret.proof


@pytest.mark.parametrize("name", HONEST.split())
def test_a_name_that_is_about_a_secret_or_only_looks_like_one(name: str) -> None:
    assert classify(name) is None


@pytest.mark.parametrize(
    "name", ["k" * 100_000 + "_password", "password_" + "k" * 100_000, "k_" * 100_000 + "apiKey"]
)
def test_a_very_long_name_is_read_at_both_ends(name: str) -> None:
    assert classify(name) is not None


@given(
    st.text(st.characters(), max_size=30),
    st.sampled_from(["_", "-", ".", " ", "/"]),
    st.sampled_from(["password", "api_key"]),
)
@settings(max_examples=100)
def test_any_prefix_of_other_words_leaves_a_secret_a_secret(prefix: str, separator: str, name: str) -> None:
    assert classify(f"{prefix}{separator}{name}") is not None


@given(st.text(st.characters(), max_size=60))
@settings(max_examples=100)
def test_any_name_is_classified(name: str) -> None:
    classify(name)
