// The headers that nearly every test includes. Build time only: a file that needs one of them still
// includes it itself.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/pch.h"
