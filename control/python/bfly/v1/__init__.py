# SPDX-License-Identifier: Apache-2.0
"""Messages and stubs of the API, made of the .proto files in the build."""
